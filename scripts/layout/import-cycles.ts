import { exceptListed } from './exceptions.ts'
import { graphOf, type ImportGraph } from './import-graph.ts'
import type { Problem, Rule } from './source-tree.ts'

/**
 * No file imports itself through others, not even its types: none of a cycle can be understood, moved or tested without
 * the others.
 */
export const importCycles: Rule = (tree) => {
  const graph = graphOf(tree)
  const problems = [...graph.keys()].flatMap((path): Problem[] => {
    const way = shortestCycle(graph, path)
    return way === undefined ? [] : [{ path, message: `imports itself: ${way.join(' → ')}` }]
  })
  return exceptListed(tree, 'import-cycles', { problems })
}

/** The files from `start` back to it, breadth first. */
function shortestCycle(graph: ImportGraph, start: string): readonly string[] | undefined {
  const cameFrom = new Map<string, string>()
  const waiting = [start]
  for (const path of waiting) {
    for (const target of graph.get(path) ?? []) {
      if (cameFrom.has(target)) continue
      cameFrom.set(target, path)
      if (target === start) return wayTo(start, cameFrom)
      waiting.push(target)
    }
  }
  return undefined
}

function wayTo(start: string, cameFrom: ReadonlyMap<string, string>): readonly string[] {
  const way = [start]
  let path = cameFrom.get(start)
  while (path !== undefined && path !== start) {
    way.unshift(path)
    path = cameFrom.get(path)
  }
  return [start, ...way]
}
