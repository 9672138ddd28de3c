/**
 * The exact text of an answer. An object or an error is one line that ends in a newline. A list has one element a line,
 * because the official Node client parses line by line (reference: Layout of answers).
 */
export function layOut(payload: unknown, status: number): string {
  if (!Array.isArray(payload) || status >= 400) return `${JSON.stringify(payload)}\n`
  return payload.length === 0 ? '[\n]\n' : `[\n${payload.map((item) => JSON.stringify(item)).join(',\n')}\n]\n`
}
