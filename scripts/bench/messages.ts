/** The messages of the benchmark: the canned completion, and the requests. */

const text =
  "A toll gate stands where a road is paid for. It lets through who has paid, counts them, and keeps the book."

/**
 * A whole chat completion, as nginx sends it. Without single quotes, because it is part of nginx's
 * configuration.
 */
export const completion = JSON.stringify({
  id: "chatcmpl-bench",
  object: "chat.completion",
  created: 1_790_000_000,
  model: "model",
  choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
  usage: { prompt_tokens: 40, completion_tokens: 26, total_tokens: 66 }
})

/** The body of one chat request. `prompt` makes it unique. */
export const chatBody = (model: string, prompt: string, stream: boolean): string =>
  JSON.stringify({
    model,
    messages: [
      { role: "system", content: "You are a patient assistant who answers in one short paragraph." },
      { role: "user", content: `What is a toll gate, and why does one stand on a road? ${prompt}` }
    ],
    temperature: 0.7,
    max_tokens: 256,
    stream
  })
