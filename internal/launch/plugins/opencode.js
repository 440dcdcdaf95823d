// turnback's plugin for OpenCode, for one process.
const named = new Set(Object.values(tools).map((t) => t.name));

const isOurs = (part) => part.type === "tool" && named.has(part.tool);

export const Turnback = async ({ client }) => {
  // opencode run ends with its first answer: a prompt of ours would be lost.
  const single = process.argv.includes("run");
  const sessions = new Map(); // of each: whether it is a subagent's, the newest message, what is open

  async function sessionOf(id) {
    if (!sessions.has(id)) {
      const found = await client.session.get({ path: { id } });
      sessions.set(id, { subagent: Boolean(found.data?.parentID) });
    }
    return sessions.get(id);
  }

  const definition = (tool, { argument }) => ({
    description: turnback.tools[tool].description,
    args: { [argument]: { type: "string", description: turnback.tools[tool].argument } },
    async execute(args, ctx) {
      const { subagent } = await sessionOf(ctx.sessionID);
      const texts = await call(tool, args[argument], ctx.sessionID, ctx.callID, subagent);
      return texts.join("\n");
    },
  });

  async function settled(id) {
    const session = await sessionOf(id);
    const last = session.last;
    session.last = undefined;
    if (session.subagent || !last || last.error || last.finish === "tool-calls") return;
    if (single) {
      if (session.open) console.error(`turnback: the checkpoint ${JSON.stringify(session.open)} of this conversation is still open. To close it: turnback conversation abandon ${id}`);
      return;
    }
    const reply = await ask({ do: "settled", session: id });
    if (reply.notice) await client.tui.showToast({ body: { message: reply.notice, variant: "warning" } });
    if (reply.reminder) await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: reply.reminder }] } });
  }

  return {
    tool: Object.fromEntries(Object.entries(tools).map(([tool, t]) => [t.name, definition(tool, t)])),

    "experimental.chat.messages.transform": async (_, output) => {
      const id = output.messages.at(-1)?.info.sessionID;
      if (!id) return;
      const session = await sessionOf(id);
      const ours = output.messages.flatMap((m) => m.parts.filter(isOurs));
      const reply = await ask({
        do: "context", session: id, subagent: session.subagent, messages: ours.length > 0 ? output.messages : undefined,
      });
      session.open = reply.open;
      if (!reply.messages) return;
      output.messages.splice(0, output.messages.length, ...reply.messages);
      // OpenCode leaves out results that are old; the report is in one of them.
      for (const m of output.messages) for (const part of m.parts) if (isOurs(part)) delete part.state.time?.compacted;
    },

    "chat.message": async (input, output) => {
      const { subagent } = await sessionOf(input.sessionID);
      const text = output.parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n");
      await ask({ do: "prompted", session: input.sessionID, subagent, text });
    },

    event: async ({ event }) => {
      const about = event.properties;
      if (event.type === "session.created" || event.type === "session.updated") {
        const known = sessions.get(about.info.id);
        if (!known) sessions.set(about.info.id, { subagent: Boolean(about.info.parentID) });
      } else if (event.type === "message.updated" && about.info.role === "assistant") {
        const session = await sessionOf(about.info.sessionID);
        const isNew = about.info.time.completed && session.counted !== about.info.id;
        session.last = about.info;
        if (!isNew) return;
        session.counted = about.info.id;
        const t = about.info.tokens;
        const tokens = t.input + t.cache.read + t.cache.write;
        await ask({ do: "usage", session: about.info.sessionID, subagent: session.subagent, tokens });
      } else if (event.type === "session.idle") {
        await settled(about.sessionID);
      }
    },
  };
};
