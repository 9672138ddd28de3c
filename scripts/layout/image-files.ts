import { matchesGlob, posix } from 'node:path'
import type { Problem, Rule } from './source-tree.ts'

/** Sources that images run. The other packages are for development only. */
const RUNS_IN_IMAGES =
  /^(services\/[^/]+\/src|packages\/(?!stack\/|testing\/)[^/]+\/src|migrations)\/.*(?<!\.test)\.(ts|sql)$/

/** `.dockerignore` ignores no source that an image runs. */
export const imageFiles: Rule = ({ files, read }) => {
  const path = '.dockerignore'
  const lines = read(path)?.split('\n') ?? []
  const patterns = lines.filter((line) => /^[^#!]/.test(line) && line !== '*')
  return files
    .filter((file) => RUNS_IN_IMAGES.test(file.path))
    .flatMap((file): Problem[] => {
      const pattern = patterns.find((glob) => ancestry(file.path).some((part) => matchesGlob(part, glob)))
      return pattern === undefined ? [] : [{ path, message: `${pattern} leaves ${file.path} out of the images` }]
    })
}

/** A path and the folders that it is in. */
function ancestry(path: string): readonly string[] {
  const folder = posix.dirname(path)
  return folder === '.' ? [path] : [path, ...ancestry(folder)]
}
