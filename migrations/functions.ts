import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { fragmentText, includeFragments, type ReadFragment } from './fragments.ts'
import { localName, type Names } from './migration.ts'

export interface FunctionFile {
  /** The name of the file and the function, without the prefix of DB_NAMESPACE: `refresh_session`. */
  readonly name: string
  /** `CREATE OR REPLACE FUNCTION {{refresh_session}}…`, with included fragments. */
  readonly text: string
  /** SHA-256 of the text, independent of schema and prefix. */
  readonly hash: string
}

/**
 * The server on which a function runs if the database is distributed over several servers.
 * - The name of an argument, `p_merchant_id`: the node of that merchant, whichever node is called.
 * - `everywhere`: the called node.
 * - `coordinator`: only the coordinator.
 */
export type FunctionPlace = `p_${string}` | 'everywhere' | 'coordinator'

/** Reads the functions of a service, in the order of names. */
export type FunctionFiles = () => Promise<readonly FunctionFile[]>

/**
 * The functions of a folder: one `.sql` file each. Its folder `fragments` contains common parts.
 * @throws Error if a file includes a missing fragment
 */
export function functionsIn(folder: URL): FunctionFiles {
  // Read once per process, because every readiness probe needs their names.
  let files: ReturnType<FunctionFiles> | undefined
  return () => {
    files ??= readFunctions(folder)
    return files
  }
}

async function readFunctions(folder: URL): Promise<readonly FunctionFile[]> {
  const names = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(names.map((file) => readFunction(folder, file)))
}

async function readFunction(folder: URL, file: string): Promise<FunctionFile> {
  const text = includeFragments(await readFile(new URL(file, folder), 'utf8'), readFrom(folder))
  return { name: file.slice(0, -'.sql'.length), text, hash: createHash('sha256').update(text).digest('hex') }
}

/**
 * Reads a fragment for a query of a service, with included fragments. Its parameters, `{{:key_mac}}`, and its names,
 * `{{app_keys}}`, stay in the text.
 */
export type Fragments = (name: string) => string

/**
 * The fragments of a folder of functions, for queries with the same rule as a function.
 * @throws Error for a missing fragment
 */
export function fragmentsIn(folder: URL): Fragments {
  return (name) => fragmentText(name, readFrom(folder))
}

function readFrom(folder: URL): ReadFragment {
  return (name) => {
    try {
      return readFileSync(new URL(`fragments/${name}`, folder), 'utf8')
    } catch (cause) {
      throw new Error(`fragments/${name} is included, which is not there`, { cause })
    }
  }
}

const PLACE = /^-- distribute: (p_[a-z0-9_]+|everywhere|coordinator)\n/

/**
 * The server on which a function runs if the database is distributed, from the first line of its file: `-- distribute:
 * p_merchant_id`.
 * @throws Error if the file does not begin with such a line
 */
export function placeOf({ name, text }: Pick<FunctionFile, 'name' | 'text'>): FunctionPlace {
  const place = PLACE.exec(text)?.[1]
  if (place === 'everywhere' || place === 'coordinator') return place
  if (place === undefined) {
    throw new Error(`${name}.sql does not begin with "-- distribute: p_…", "everywhere" or "coordinator"`)
  }
  return `p_${place.slice(2)}`
}

/**
 * Writes names into the text of a function: `{{users}}` becomes `"auth"."app_users"`, `{{local:users_email_key}}` becomes
 * `"app_users_email_key"`, and `{{prefix}}` becomes `app_`.
 */
export function withNames(text: string, { schema, prefix }: Pick<Names, 'schema' | 'prefix'>): string {
  return text.replaceAll(/\{\{(local:)?([a-z][a-z0-9_]*)\}\}/g, (_, local: string | undefined, name: string) => {
    if (local) return `"${localName(prefix, name)}"`
    return name === 'prefix' ? prefix : `"${schema}"."${prefix}${name}"`
  })
}
