import { readFileSync } from 'node:fs'

/** Passwords of 8 characters and more that many people have, lower-case. Read only where they are refused. */
export function loadCommonPasswords(): ReadonlySet<string> {
  const text = readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8')
  return new Set(text.split('\n').filter((line) => line !== '' && !line.startsWith('#')))
}
