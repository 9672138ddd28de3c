/**
 * The bytes of a chunk of a long response: texts in UTF-8 with a separator. Does not join the texts, because V8 allocates
 * separate memory for a large text, which would be garbage immediately.
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
