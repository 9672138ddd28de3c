import { graphOf, shortestWay } from './import-graph.ts'
import type { Problem, Rule } from './source-tree.ts'

/** No file imports itself through others, types included: a reader could understand, move or test none of them alone. */
export const importCycles: Rule = (tree) => {
  const graph = graphOf(tree)
  return [...graph.keys()].flatMap((path): Problem[] => {
    const way = shortestWay(
      path,
      (from) => graph.get(from) ?? [],
      (target) => target === path,
    )
    return way === undefined ? [] : [{ path, message: `imports itself: ${way.join(' → ')}` }]
  })
}
