/** What the codes of errors of files mean. */
const PROBLEMS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'no such file'],
  ['EEXIST', 'the file exists already'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'a folder, not a file'],
])

/** What is wrong with a file, in words. Undefined for any other error. */
export function findFileProblem(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? PROBLEMS.get(error.code) : undefined
}
