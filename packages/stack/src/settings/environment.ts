import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { isStatusName } from '../status/stack-status.ts'

export type Environment = Readonly<Record<string, string>>

/**
 * Reads the user's settings from the `.env` file and the process environment, which takes precedence. An empty value in the file
 * counts as unset, so a copied example changes nothing. An empty value in the environment removes a default. Ignores `PORT`,
 * which could mean any of three services, the variables of npm, and the variables that `status` prints.
 */
export function readUserEnvironment(envFile: string, processEnv: NodeJS.ProcessEnv): Environment {
  const fromFile = existsSync(envFile) ? Object.entries(parseEnv(readFileSync(envFile, 'utf8'))) : []
  const entries = [...fromFile.filter(([, value]) => value !== ''), ...Object.entries(processEnv)]
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (value === undefined || isForeign(name) ? [] : [[name, value]])),
  )
}

/** Returns the folder of the data, the settings and the logs of a stack. @param root the checkout */
export function dataDirectoryOf(root: string, env: Environment): string {
  return resolve(root, env.TRESTLE_DATA_DIRECTORY || '.data')
}

function isForeign(name: string): boolean {
  return name === 'PORT' || name === 'INIT_CWD' || name.startsWith('npm_') || isStatusName(name)
}
