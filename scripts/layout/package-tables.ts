import { type Problem, productionFiles, type Rule, type SourceTree, serviceNames } from './source-tree.ts'

/** The published framework. Its README is for those who install it, and says what they can do. */
const PUBLISHED = 'packages/endpoints'
/** The table of files in the README of a noun, from its heading to the first line that is none of its rows. */
const TABLE = /^\| Files? \|.*\n(?:\|.*\n?)*/m

/**
 * The README of a package has a table of what its `src` holds: it names each file and folder there, in
 * backticks. So does the table of files in the README of a noun of a service, where it has one.
 */
export const packageTables: Rule = (tree) => {
  const packages = productionFiles(tree, 'packages').flatMap(({ path }) => entryOf(path) ?? [])
  const nouns = serviceNames(tree).flatMap((service) =>
    productionFiles(tree, `services/${service}/src`).flatMap(({ path }) => nounEntryOf(path) ?? []),
  )
  return [
    ...[...new Set(packages)].flatMap((entry) => missingOfPackage(tree, entry)),
    ...[...new Set(nouns)].flatMap((entry) => missingOfNoun(tree, entry)),
  ]
}

/** The place of a file directly below `src`: `packages/jobs/src/task.ts`, or a folder with `/` at its end. */
function entryOf(path: string): string | undefined {
  const [, entry] = /^(packages\/[^/]+\/src\/[^/]+(?:\/|$))/.exec(path) ?? []
  return entry?.startsWith(`${PUBLISHED}/`) ? undefined : entry
}

/** The place of a file directly below the folder of a noun, or of a folder there: `services/shop/src/tills/till.ts`. */
function nounEntryOf(path: string): string | undefined {
  return /^services\/[^/]+\/src\/[^/]+\/[^/]+(?:\/|$)/.exec(path)?.[0]
}

function missingOfPackage(tree: SourceTree, entry: string): readonly Problem[] {
  const [folder = '', name = ''] = entry.split('/src/')
  const path = `${folder}/README.md`
  return textOf(tree, path)?.includes(`\`${name}\``) ? [] : [{ path, message: `does not name \`${name}\` of its src` }]
}

function missingOfNoun(tree: SourceTree, entry: string): readonly Problem[] {
  const [, folder = '', name = ''] = /^(.*)\/([^/]+\/?)$/.exec(entry) ?? []
  const path = `${folder}/README.md`
  const table = TABLE.exec(textOf(tree, path) ?? '')?.[0]
  if (table === undefined || table.includes(`\`${name}\``)) return []
  return [{ path, message: `has a table of files that does not name \`${name}\`` }]
}

function textOf({ files }: SourceTree, path: string): string | undefined {
  return files.find((file) => file.path === path)?.text
}
