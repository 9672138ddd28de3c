import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'

/**
 * Reads a file of text. A decoder that replaces bytes which are not UTF-8 would change a name, or a password, in silence.
 * @throws Error for such bytes, and for a file that cannot be read
 */
export function readText(path: string): string {
  const bytes = readFileSync(path)
  if (!isUtf8(bytes)) throw new Error(`${path} is not UTF-8`)
  return bytes.toString('utf8')
}
