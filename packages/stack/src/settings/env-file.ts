import { writeFileSync } from 'node:fs'
import type { Environment } from './environment.ts'

/**
 * Writes the settings of a service for its other commands, as in `pnpm auth -c .data/auth.env migrate status`. Holds
 * secrets: readable by its owner alone.
 */
export function writeEnvFile(file: string, env: Environment, isWanted: (name: string) => boolean): void {
  const lines = Object.entries(env)
    .filter(([name]) => isWanted(name))
    .map(([name, value]) => `${name}=${quote(value)}\n`)
  writeFileSync(file, `# Written by npm start at every start.\n${lines.join('')}`, { mode: 0o600 })
}

/** Single quotes are literal. Text that holds one, or a line break, goes in double quotes. */
function quote(value: string): string {
  if (!/['\n]/.test(value)) return `'${value}'`
  return `"${value.replaceAll('\n', '\\n')}"`
}
