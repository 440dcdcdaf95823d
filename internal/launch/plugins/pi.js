// turnback's extension for pi, for one process.
const named = new Set(Object.values(tools).map((t) => t.name));

export default function (pi) {
  const sessionOf = (ctx) => ctx.sessionManager.getSessionId();
  const fileOf = (ctx) => ctx.sessionManager.getSessionFile();
  const tell = (ctx, text) => ctx.hasUI ? ctx.ui.notify(text, "warning") : console.error(text);
  let newest; // the newest message of the model
  let asking = false; // the person is asked something

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

  pi.on("session_start", async (event, ctx) => {
    if (event.reason === "reload") return;
    const reply = await ask({ do: "started", session: sessionOf(ctx), reason: event.reason, transcript: fileOf(ctx) });
    if (reply.notice) tell(ctx, reply.notice);
  });

  pi.on("session_shutdown", async (event, ctx) => {
    if (event.reason !== "reload") await ask({ do: "left", session: sessionOf(ctx), reason: event.reason });
  });

  pi.on("message_end", (event, ctx) => {
    if (event.message.role !== "assistant") return;
    newest = event.message;
    const usage = newest.usage;
    if (!usage) return;
    void ask({ do: "usage", session: sessionOf(ctx), tokens: (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0) });
  });

  pi.on("before_agent_start", async (event, ctx) => {
    newest = undefined;
    const text = event.prompt ?? "";
    const reply = await ask({ do: "prompted", session: sessionOf(ctx), text, same_turn: event.prompt === undefined, transcript: fileOf(ctx) });
    if (reply.context) return { message: { customType: "turnback", content: reply.context, display: true } };
  });

  pi.on("tool_call", async (event, ctx) => {
    const path = event.input?.path;
    await ask({ do: "tool", session: sessionOf(ctx), tool: event.toolName, paths: typeof path === "string" ? [path] : undefined });
  });

  pi.on("tool_execution_end", async (_, ctx) => {
    await ask({ do: "used", session: sessionOf(ctx) });
  });

  pi.on("ui_prompt_start", async (event, ctx) => {
    asking = !ctx.isIdle();
    if (asking) await ask({ do: "asked", session: sessionOf(ctx), text: event.title });
  });

  pi.on("ui_prompt_end", async (_, ctx) => {
    if (asking) await ask({ do: "used", session: sessionOf(ctx) });
    asking = false;
  });

  pi.on("turn_end", async (event, ctx) => {
    if (event.message.stopReason !== "stop" || event.toolResults.length > 0 || event.continue) return;
    const reply = await ask({ do: "settled", session: sessionOf(ctx) });
    if (reply.notice) tell(ctx, reply.notice);
    if (!reply.reminder) return;
    const reminder = { type: "custom_message", customType: "turnback", content: reply.reminder, display: true };
    return { entries: [...event.entries, reminder], continue: true };
  });

  pi.on("agent_settled", async (event, ctx) => {
    const reason = event.aborted ? "aborted" : newest?.stopReason;
    const text = newest?.content.filter((part) => part.type === "text").map((part) => part.text).join("\n");
    const reply = await ask({
      do: "ended", session: sessionOf(ctx), how: { aborted: "aborted", error: "failed" }[reason] ?? "done",
      text: newest?.errorMessage ?? text, transcript: fileOf(ctx), entry: ctx.sessionManager.getLeafId() ?? undefined,
    });
    if (reply.notice) tell(ctx, reply.notice);
  });
}
