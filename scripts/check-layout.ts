// Fails on a broken rule of layout: `node scripts/check-layout.ts`. Each rule is a file of scripts/layout.
import { join } from 'node:path'
import { actVerbs } from './layout/act-verbs.ts'
import { aliases } from './layout/aliases.ts'
import { arrows } from './layout/arrows.ts'
import { asciiSql } from './layout/ascii-sql.ts'
import { booleanChoices } from './layout/boolean-choices.ts'
import { catalogueTexts } from './layout/catalogue-texts.ts'
import { changelogEntries } from './layout/changelog-entries.ts'
import { charters } from './layout/charters.ts'
import { citations } from './layout/citations.ts'
import { clockAndEnvironment } from './layout/clock-and-environment.ts'
import { commentWidths } from './layout/comment-widths.ts'
import { decisions } from './layout/decisions.ts'
import { declaredDependencies } from './layout/declared-dependencies.ts'
import { docstrings } from './layout/docstrings.ts'
import { documentLinks } from './layout/document-links.ts'
import { forbiddenNames } from './layout/forbidden-names.ts'
import { functionFiles } from './layout/function-files.ts'
import { handlerLengths } from './layout/handler-lengths.ts'
import { imageFiles } from './layout/image-files.ts'
import { importCycles } from './layout/import-cycles.ts'
import { keyRefusals } from './layout/key-refusals.ts'
import { latestSnapshots } from './layout/latest-snapshots.ts'
import { loneImplementations } from './layout/lone-implementations.ts'
import { loneStatuses } from './layout/lone-statuses.ts'
import { metricDocuments } from './layout/metric-documents.ts'
import { metricQueries } from './layout/metric-queries.ts'
import { migrationFiles } from './layout/migration-files.ts'
import { moduleState } from './layout/module-state.ts'
import { momentNames } from './layout/moment-names.ts'
import { namedErrors } from './layout/named-errors.ts'
import { namedFirst } from './layout/named-first.ts'
import { nounOrder } from './layout/noun-order.ts'
import { objectSpreads } from './layout/object-spreads.ts'
import { outboundCalls } from './layout/outbound-calls.ts'
import { packageTables } from './layout/package-tables.ts'
import { pagePictures } from './layout/page-pictures.ts'
import { pinnedActions } from './layout/pinned-actions.ts'
import { pinnedImages } from './layout/pinned-images.ts'
import { portableCore } from './layout/portable-core.ts'
import { pureFiles } from './layout/pure-files.ts'
import { queryVerbs } from './layout/query-verbs.ts'
import { refusedWords } from './layout/refused-words.ts'
import { returnTypes } from './layout/return-types.ts'
import { rootEntries } from './layout/root-entries.ts'
import { singleImporters } from './layout/single-importers.ts'
import { sizes } from './layout/sizes.ts'
import { smallFolders } from './layout/small-folders.ts'
import { type Problem, type Rule, readSourceTree } from './layout/source-tree.ts'
import { stateDiagrams } from './layout/state-diagrams.ts'
import { statements } from './layout/statements.ts'
import { testTitles } from './layout/test-titles.ts'
import { testsBeside } from './layout/tests-beside.ts'
import { thrownOnce } from './layout/thrown-once.ts'
import { uncheckedInput } from './layout/unchecked-input.ts'
import { unlicensedPackages } from './layout/unlicensed-packages.ts'
import { urlFiles } from './layout/url-files.ts'
import { useCaseArguments } from './layout/use-case-arguments.ts'
import { useCaseHttp } from './layout/use-case-http.ts'
import { useCaseNames } from './layout/use-case-names.ts'
import { walks } from './layout/walks.ts'
import { wholeValues } from './layout/whole-values.ts'

/** Every rule of the house style that a program can check. */
export const rules: readonly Rule[] = [
  forbiddenNames,
  urlFiles,
  useCaseNames,
  useCaseArguments,
  useCaseHttp,
  arrows,
  aliases,
  catalogueTexts,
  thrownOnce,
  clockAndEnvironment,
  latestSnapshots,
  moduleState,
  uncheckedInput,
  migrationFiles,
  portableCore,
  outboundCalls,
  documentLinks,
  rootEntries,
  decisions,
  changelogEntries,
  metricDocuments,
  metricQueries,
  pagePictures,
  pinnedActions,
  pinnedImages,
  imageFiles,
  unlicensedPackages,
  declaredDependencies,
  charters,
  packageTables,
  citations,
  importCycles,
  nounOrder,
  singleImporters,
  loneImplementations,
  loneStatuses,
  keyRefusals,
  smallFolders,
  sizes,
  commentWidths,
  handlerLengths,
  pureFiles,
  statements,
  actVerbs,
  queryVerbs,
  refusedWords,
  functionFiles,
  asciiSql,
  walks,
  docstrings,
  returnTypes,
  booleanChoices,
  objectSpreads,
  namedFirst,
  momentNames,
  namedErrors,
  testsBeside,
  testTitles,
  wholeValues,
  stateDiagrams,
]

/** Every broken rule in the tree under `root`. @throws Error when a source cannot be parsed */
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
