const PROBLEMS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'no such file'],
  ['EEXIST', 'the file exists already'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'a folder, not a file'],
])

/** Why a file cannot be read or written, such as `no such file`. Undefined for an error whose code is not listed above. */
export function findFileProblem(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? PROBLEMS.get(error.code) : undefined
}
