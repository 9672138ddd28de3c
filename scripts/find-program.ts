import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of a program in the first folder of the PATH that has it; undefined when none has. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find(existsSync)
}
