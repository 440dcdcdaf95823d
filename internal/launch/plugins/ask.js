// The process of turnback's that answers, by lines of JSON. `turnback` has its
// program and arguments.
import { spawn } from "node:child_process";

const waiting = new Map();
let child, next = 1;

function answers(process) {
  let text = "";
  process.stdout.setEncoding("utf8");
  process.stdout.on("data", (piece) => {
    text += piece;
    for (let end; (end = text.indexOf("\n")) >= 0; text = text.slice(end + 1)) {
      const reply = JSON.parse(text.slice(0, end));
      settle(reply.id, reply);
    }
  });
  const gone = () => {
    if (child === process) child = undefined;
    for (const id of [...waiting.keys()]) settle(id, { error: "turnback has ended" });
  };
  process.on("error", gone);
  process.on("close", gone);
  process.stdin.on("error", gone);
}

function settle(id, reply) {
  const resolve = waiting.get(id);
  if (!resolve) return;
  waiting.delete(id);
  if (waiting.size === 0) hold(false);
  resolve(reply);
}

// hold keeps the agent from ending while it waits for an answer, and only then.
function hold(on) {
  for (const handle of [child, child?.stdout, child?.stdin]) handle?.[on ? "ref" : "unref"]?.();
}

// ask never throws: a reply has an error then.
function ask(request, patience = 10_000) {
  if (!child) {
    child = spawn(turnback.program, turnback.args, { stdio: ["pipe", "pipe", "ignore"] });
    answers(child);
  }
  const id = next++;
  return new Promise((resolve) => {
    const late = setTimeout(() => settle(id, { error: "turnback did not answer" }), patience);
    waiting.set(id, (reply) => {
      clearTimeout(late);
      resolve(reply);
    });
    hold(true);
    child.stdin.write(JSON.stringify({ ...request, id }) + "\n");
  });
}

const tools = {
  checkpoint: { name: "turnback_checkpoint", argument: "goal" },
  rewind: { name: "turnback_rewind", argument: "report" },
};

// call answers the model, or throws the refusal.
async function call(tool, text, session, callID, subagent) {
  const reply = await ask({ do: "call", tool, text: text ?? "", session, call_id: callID, subagent });
  if (reply.error) throw new Error("turnback: " + reply.error);
  if (reply.is_error) throw new Error(reply.texts.join("\n"));
  return reply.texts;
}
