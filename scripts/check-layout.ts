// Fails if a layout rule in `scripts/layout` is broken: `node scripts/check-layout.ts`.
import { join } from 'node:path'
import { arrows, moduleOrder, portableCore } from './layout/arrows.ts'
import { catalogueTexts } from './layout/catalogue-texts.ts'
import { citations } from './layout/citations.ts'
import { documentLinks } from './layout/document-links.ts'
import { functionFiles } from './layout/function-files.ts'
import { importCycles } from './layout/import-graph.ts'
import { metricDocuments, metricQueries } from './layout/metrics.ts'
import { migrationFiles } from './layout/migration-files.ts'
import { moduleState } from './layout/module-state.ts'
import { outboundCalls } from './layout/outbound-calls.ts'
import { clockAndEnvironment, pureFiles } from './layout/pure-files.ts'
import { returnTypes } from './layout/return-types.ts'
import { sizes } from './layout/sizes.ts'
import { type Problem, type Rule, readSourceTree } from './layout/source-tree.ts'
import { stateDiagrams } from './layout/state-diagrams.ts'
import { asciiSql, latestSnapshots, statements } from './layout/statements.ts'
import { imageFiles, pinnedActions, pinnedImages, unlicensedPackages } from './layout/supply-chain.ts'
import { testsBeside, wholeValues } from './layout/tests.ts'
import { uncheckedInput } from './layout/unchecked-input.ts'
import { urlFiles } from './layout/url-files.ts'
import { useCaseHttp } from './layout/use-case-http.ts'

export const rules: readonly Rule[] = [
  urlFiles,
  useCaseHttp,
  arrows,
  catalogueTexts,
  clockAndEnvironment,
  latestSnapshots,
  moduleState,
  uncheckedInput,
  migrationFiles,
  portableCore,
  outboundCalls,
  documentLinks,
  metricDocuments,
  metricQueries,
  pinnedActions,
  pinnedImages,
  imageFiles,
  unlicensedPackages,
  citations,
  importCycles,
  moduleOrder,
  sizes,
  pureFiles,
  statements,
  functionFiles,
  asciiSql,
  returnTypes,
  testsBeside,
  wholeValues,
  stateDiagrams,
]

/** Returns all broken rules in the tree under `root`. @throws Error if a source cannot be parsed */
export async function checkLayout(root: string): Promise<readonly Problem[]> {
  const tree = readSourceTree(root)
  const found = await Promise.all(rules.map((rule) => rule(tree)))
  return found.flat()
}

if (import.meta.main) {
  const problems = await checkLayout(join(import.meta.dirname, '..'))
  for (const { path, line, message } of problems) {
    console.error(`${path}${line === undefined ? '' : `:${line}`}: ${message}`)
  }
  if (problems.length > 0) console.error(`${problems.length} broken layout rules`)
  process.exit(problems.length > 0 ? 1 : 0)
}
