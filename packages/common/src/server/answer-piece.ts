/**
 * The bytes of a chunk of a long answer, which is sent chunk by chunk: its texts in UTF-8, with a separator between them. A
 * joined text of hundreds of kilobytes would be garbage at once, and V8 gives each large text memory of its own.
 */
export function toAnswerPiece(texts: readonly string[], separator = ''): Buffer {
  const between = Buffer.byteLength(separator) * Math.max(0, texts.length - 1)
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), between))
  let at = 0
  for (const text of texts) {
    if (at > 0) at += bytes.write(separator, at)
    at += bytes.write(text, at)
  }
  return bytes
}
