import { parseEnv } from 'node:util'
import { findFileProblem } from '../errors/file-problem.ts'
import { ConfigError } from './config-error.ts'
import { requireWholeValues } from './cut-values.ts'
import { readText } from './read-text.ts'

/** The sources of the variables of a process. A variable of `env` wins over the same variable of the file. */
export interface EnvironmentOptions {
  /** The process environment. */
  readonly env: NodeJS.ProcessEnv
  /** Undefined: no file is read. */
  readonly file?: EnvFile | undefined
}

/** A file with variables, one `NAME=value` a line. */
export interface EnvFile {
  readonly path: string
  /** Whether a file that does not exist is an error. */
  readonly isRequired: boolean
}

/**
 * Reads the variables of the environment and, with lower priority, of an env file. It leaves out empty variables, and the ports
 * that Kubernetes sets for a Service (`AUTH_PORT=tcp://10.0.0.1:8081` for a Service called auth), which would hide the setting.
 * @throws ConfigError when the file cannot be read, or has a value that would be cut
 */
export function readEnvironment({ env, file }: EnvironmentOptions): Readonly<Record<string, string>> {
  // An empty variable of the environment must not hide the value of the file.
  return { ...dropUnset(readEnvFile(file)), ...dropUnset(env) }
}

function readEnvFile(file: EnvFile | undefined): NodeJS.Dict<string> {
  const text = file === undefined ? undefined : readIfThere(file)
  if (file === undefined || text === undefined) return {}
  requireWholeValues(file.path, text)
  return parseEnv(text)
}

function readIfThere(file: EnvFile): string | undefined {
  try {
    return readText(file.path)
  } catch (error) {
    if (!file.isRequired && error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    const problem = findFileProblem(error) ?? (error instanceof Error ? error.message : String(error))
    throw new ConfigError([`${file.path} cannot be read (${problem})`])
  }
}

function dropUnset(environment: NodeJS.Dict<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || value === '' || isServicePort(name, value) ? [] : [[name, value]],
    ),
  )
}

function isServicePort(name: string, value: string): boolean {
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value)
}
