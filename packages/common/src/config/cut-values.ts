import { parseEnv } from 'node:util'
import { ConfigError } from './config-error.ts'

/** Stands for `#` while a file is read. It is no character, so no file has it. */
const PLACEHOLDER = '\uFFFE'

/**
 * The values of an env file that Node.js cuts at a `#` which no blank precedes: `KEY=a#b` is `a` for Node.js,
 * and `a#b` for Docker Compose, systemd and supabase/auth. A `#` in quotes cuts nothing, and one after a
 * blank begins a comment for most of them.
 * @param text of the file
 * @returns the whole values, by their names
 */
export function findCutValues(text: string): ReadonlyMap<string, string> {
  const values = parseEnv(text)
  const uncut = parseEnv(text.replaceAll(/(?<=\S)#/g, PLACEHOLDER))
  return new Map(
    Object.entries(uncut).flatMap(([marked, value = '']) => {
      const [name, whole] = [unmark(marked), unmark(value)]
      return whole === values[name] ? [] : [[name, whole]]
    }),
  )
}

function unmark(text: string): string {
  return text.replaceAll(PLACEHOLDER, '#')
}

/**
 * Refuses a file with values that would be cut: a password or a signing secret without its end would be taken in silence.
 * @throws ConfigError that names the settings, and not their values
 */
export function requireWholeValues(path: string, text: string): void {
  const names = [...findCutValues(text).keys()]
  if (names.length > 0) throw new ConfigError(names.map((name) => `${path}: ${name} ${ADVICE}`))
}

const ADVICE =
  'has a # with no blank before it, which would cut its value: put the value in single quotes, or a blank before a comment'
