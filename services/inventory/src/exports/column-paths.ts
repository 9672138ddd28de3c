import { type AttributePath, findClash, parseAttributePath } from '../products/attribute-path.ts'

/** An import takes a hundred columns: beside these it needs `id`, `sku` and `attributes`. */
const PATHS_MAX = 97

/** The paths of values that are to have columns of their own, or why a file cannot have these columns. */
export function readColumnPaths(
  texts: readonly string[],
): { readonly paths: readonly AttributePath[] } | { readonly problem: string } {
  if (texts.length > PATHS_MAX) return { problem: `must have at most ${PATHS_MAX} paths` }
  const paths = texts.map(parseAttributePath).filter((path) => path !== undefined)
  if (paths.length < texts.length) return { problem: 'must be keys joined with dots' }
  const clash = findClash(paths)
  return clash === undefined ? { paths } : { problem: 'must not name a value twice, nor a value inside another one' }
}
