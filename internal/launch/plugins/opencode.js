// turnback's plugin for OpenCode, for one process.
const named = new Set(Object.values(tools).map((t) => t.name));

const isOurs = (part) => part.type === "tool" && named.has(part.tool);

export const Turnback = async ({ client }) => {
  // opencode run ends with its first answer: a prompt of ours would be lost.
  const single = process.argv.includes("run");
  const sessions = new Map(); // of each: whether it is a subagent's, the newest message, what is open

  const known = (id, parent) => sessions.set(id, { parent, subagent: Boolean(parent) });

  async function sessionOf(id) {
    if (!sessions.has(id)) {
      const found = await client.session.get({ path: { id } });
      if (!sessions.has(id)) known(id, found.data?.parentID);
    }
    return sessions.get(id);
  }

  // turnOf is whose turn it is that something in a session is part of.
  async function turnOf(id) {
    const { parent, subagent } = await sessionOf(id);
    return parent ? { ...(await turnOf(parent)), subagent } : { session: id, subagent };
  }

  const tell = (text) => single ? console.error(text) : client.tui.showToast({ body: { message: text, variant: "warning" } });

  const definition = (tool, { argument }) => ({
    description: turnback.tools[tool].description,
    args: { [argument]: { type: "string", description: turnback.tools[tool].argument } },
    async execute(args, ctx) {
      const { subagent } = await sessionOf(ctx.sessionID);
      const texts = await call(tool, args[argument], ctx.sessionID, ctx.callID, subagent);
      return texts.join("\n");
    },
  });

  // settled has the model go on where it is to.
  async function settled(id, session, last) {
    if (!last || last.error || last.finish === "tool-calls") return false;
    if (single) {
      if (session.open) tell(`turnback: the checkpoint ${JSON.stringify(session.open)} of this conversation is still open. To close it: turnback conversation abandon ${id}`);
      return false;
    }
    const reply = await ask({ do: "settled", session: id });
    if (reply.notice) await tell(reply.notice);
    if (reply.reminder) await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: reply.reminder }] } });
    return Boolean(reply.reminder);
  }

  // idle comes twice after an error.
  async function idle(id) {
    const session = await sessionOf(id);
    const { last, failure, text } = session;
    session.last = undefined;
    if (session.subagent || !session.working || await settled(id, session, last)) return;
    session.working = false;
    const error = failure ?? last?.error;
    const how = !error ? "done" : error.name === "MessageAbortedError" ? "aborted" : "failed";
    const reply = await ask({ do: "ended", session: id, how, text: error ? error.data?.message : text });
    if (reply.notice) await tell(reply.notice);
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
      const session = await sessionOf(input.sessionID);
      if (session.subagent) return;
      const text = output.parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n");
      const same = session.working;
      Object.assign(session, { working: true, failure: undefined, text: undefined });
      const reply = await ask({ do: "prompted", session: input.sessionID, text, prompt_id: output.message.id, same_turn: same });
      const { id, messageID, sessionID } = output.parts.at(-1) ?? {};
      // The id sorts behind that of the part before it.
      if (reply.context && id) output.parts.push({ id: id + "t", messageID, sessionID, type: "text", text: reply.context, synthetic: true });
    },

    "tool.execute.before": async (input, output) => {
      const path = output.args?.filePath;
      await ask({ do: "tool", ...(await turnOf(input.sessionID)), tool: input.tool, paths: typeof path === "string" ? [path] : undefined });
    },

    "tool.execute.after": async (input) => {
      await ask({ do: "used", ...(await turnOf(input.sessionID)) });
    },

    event: async ({ event }) => {
      const about = event.properties;
      if (event.type === "session.created" || event.type === "session.updated") {
        if (!sessions.has(about.info.id)) known(about.info.id, about.info.parentID);
      } else if (event.type === "message.updated" && about.info.role === "assistant") {
        const session = await sessionOf(about.info.sessionID);
        const isNew = about.info.time.completed && session.counted !== about.info.id;
        session.last = about.info;
        if (!isNew) return;
        session.counted = about.info.id;
        const t = about.info.tokens;
        const tokens = t.input + t.cache.read + t.cache.write;
        await ask({ do: "usage", session: about.info.sessionID, subagent: session.subagent, tokens });
      } else if (event.type === "message.part.updated" && about.part.type === "text") {
        const session = await sessionOf(about.part.sessionID);
        if (session.last?.id === about.part.messageID) session.text = about.part.text;
      } else if (event.type === "permission.asked") {
        await ask({ do: "asked", ...(await turnOf(about.sessionID)), text: about.permission });
      } else if (event.type === "permission.replied") {
        await ask({ do: "used", ...(await turnOf(about.sessionID)) });
      } else if (event.type === "session.error" && about.sessionID) {
        (await sessionOf(about.sessionID)).failure = about.error;
      } else if (event.type === "session.idle") {
        await idle(about.sessionID);
      }
    },
  };
};
