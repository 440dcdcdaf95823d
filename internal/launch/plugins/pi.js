// turnback's extension for pi, for one process.
const named = new Set(Object.values(tools).map((t) => t.name));

export default function (pi) {
  const sessionOf = (ctx) => ctx.sessionManager.getSessionId();
  for (const [tool, { name, argument }] of Object.entries(tools)) {
    pi.registerTool({
      name,
      label: tool,
      description: turnback.tools[tool].description,
      promptSnippet: turnback.tools[tool].snippet,
      parameters: {
        type: "object",
        properties: { [argument]: { type: "string", description: turnback.tools[tool].argument } },
        required: [argument],
      },
      async execute(callID, params, _signal, _update, ctx) {
        const texts = await call(tool, params[argument], sessionOf(ctx), callID, false);
        return { content: texts.map((text) => ({ type: "text", text })), details: {} };
      },
    });
  }

  pi.on("context", async (event, ctx) => {
    const concerned = event.messages.some((m) => m.role === "toolResult" && named.has(m.toolName));
    const reply = await ask({ do: "context", session: sessionOf(ctx), messages: concerned ? event.messages : undefined });
    if (reply.messages) return { messages: reply.messages };
  });

  pi.on("message_end", (event, ctx) => {
    const usage = event.message.role === "assistant" ? event.message.usage : undefined;
    if (!usage) return;
    void ask({ do: "usage", session: sessionOf(ctx), tokens: (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0) });
  });

  pi.on("before_agent_start", async (event, ctx) => {
    if (event.prompt !== undefined) await ask({ do: "prompted", session: sessionOf(ctx), text: event.prompt });
  });

  pi.on("turn_end", async (event, ctx) => {
    if (event.message.stopReason !== "stop" || event.toolResults.length > 0 || event.continue) return;
    const reply = await ask({ do: "settled", session: sessionOf(ctx) });
    if (reply.notice) ctx.hasUI ? ctx.ui.notify(reply.notice, "warning") : console.error(reply.notice);
    if (!reply.reminder) return;
    const reminder = { type: "custom_message", customType: "turnback", content: reply.reminder, display: true };
    return { entries: [...event.entries, reminder], continue: true };
  });
}
