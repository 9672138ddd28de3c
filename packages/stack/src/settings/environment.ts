import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { StackFailure } from '../stack-failure.ts'

/** The environment of a process: settings by name. */
export type Environment = Readonly<Record<string, string>>

/**
 * Reads the settings of the user: the process environment, then the `.env` of the checkout. An empty value in the file counts
 * as unset, so a copied example changes nothing. An empty value in the environment is kept, and removes a default. `PORT` is
 * left out, since it could be any of three services, and so are the variables of npm.
 */
export function readUserEnvironment(envFile: string, processEnv: NodeJS.ProcessEnv): Environment {
  const fromFile = existsSync(envFile) ? Object.entries(parseEnv(readFileSync(envFile, 'utf8'))) : []
  const entries = [...fromFile.filter(([, value]) => value !== ''), ...Object.entries(processEnv)]
  return Object.fromEntries(
    entries.flatMap(([name, value]) =>
      value === undefined || name === 'PORT' || name === 'INIT_CWD' || name.startsWith('npm_') ? [] : [[name, value]],
    ),
  )
}

/**
 * Reads a port from the settings.
 *
 * @throws StackFailure unless it is a number from 1 to 65535: the stack must know the port
 */
export function portFrom(env: Environment, setting: string, fallback: number): number {
  const text = env[setting]
  if (text === undefined || text === '') return fallback
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new StackFailure([`config: ${setting} must be a port from 1 to 65535 (got "${text}")`])
}
