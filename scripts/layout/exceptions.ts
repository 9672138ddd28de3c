import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Problem, SourceTree } from './source-tree.ts'

/**
 * The problems without those that a list excepts. A rule that is younger than some files has a list of their paths, as JSON in
 * `scripts/layout/exceptions/`. An entry that no longer breaks its rule is a problem too, so lists only shrink.
 */
export function exceptListed(tree: SourceTree, rule: string, problems: readonly Problem[]): readonly Problem[] {
  const path = `scripts/layout/exceptions/${rule}.json`
  const listed = new Set(readList(tree.root, path))
  const broken = new Set(problems.map(pathOf))
  return [
    ...problems.filter((problem) => !listed.has(problem.path)),
    ...[...listed]
      .filter((entry) => !broken.has(entry))
      .map((entry) => ({
        path,
        message: `lists ${entry}, which keeps the rule: node scripts/check-layout.ts --shrink`,
        surplus: entry,
      })),
  ]
}

/** Removes surplus entries from their lists. Returns the other problems. */
export function shrinkLists(root: string, problems: readonly Problem[]): readonly Problem[] {
  const surplus = problems.filter((problem) => problem.surplus !== undefined)
  for (const path of new Set(surplus.map(pathOf))) {
    const gone = surplus.filter((problem) => problem.path === path).map((problem) => problem.surplus)
    const left = readList(root, path).filter((entry) => !gone.includes(entry))
    if (left.length === 0) rmSync(join(root, path))
    else writeFileSync(join(root, path), `${JSON.stringify(left, null, 2)}\n`)
  }
  return problems.filter((problem) => problem.surplus === undefined)
}

function readList(root: string, path: string): readonly string[] {
  const file = join(root, path)
  return existsSync(file) ? z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8'))) : []
}

function pathOf({ path }: Problem): string {
  return path
}
