import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import type { Problem, Rule, SourceFile, SourceTree } from './source-tree.ts'

const SERVICE_README = /^services\/[^/]+\/README\.md$/
/** A path in backticks: a folder that ends with `/`, or a file. A pattern such as `*.ts` is not a path. */
const PATH_IN_BACKTICKS = /`((?:[A-Za-z0-9][\w.-]*\/)*[A-Za-z0-9][\w.-]*(?:\/|\.(?:ts|sql|md|json)))`/g
const OF_READERS = new Set([
  'docs/quick-start/reserve-stock.md',
  'docs/reference/endpoints.md',
  'packages/endpoints/README.md',
])
const HEADING = /^#{1,6} (.+)$/gm

/** The anchors of each document by path. */
type Anchors = ReadonlyMap<string, ReadonlySet<string>>

/** Links in documents lead to existing files and headings. Paths in backticks are paths of existing files. */
export const documentLinks: Rule = (tree) => {
  const documents = tree.files
    .filter(({ path }) => path.endsWith('.md'))
    .map(({ path, text }) => ({ path, text: withoutCode(text) }))
  const anchors: Anchors = new Map(documents.map(({ path, text }) => [path, readAnchors(text)]))
  return documents.flatMap((document) => [
    ...eachLine(document, (content) => findBrokenLinks(tree.root, document.path, content, anchors)),
    ...eachLine(document, (content) => findMissingPaths(tree, document.path, content)),
  ])
}

function eachLine({ path, text }: SourceFile, find: (content: string) => readonly string[]): readonly Problem[] {
  return text.split('\n').flatMap((content, i) => find(content).map((message) => ({ path, line: i + 1, message })))
}

function findBrokenLinks(root: string, path: string, content: string, anchors: Anchors): readonly string[] {
  return [...content.matchAll(/\]\(([^)#\s]*)(?:#([^)\s]+))?[^)]*\)/g)].flatMap(([, target = '', anchor]) => {
    if (/^[a-z]+:/.test(target)) return []
    const file = target === '' ? path : posix.join(posix.dirname(path), target)
    if (!existsSync(posix.join(root, file))) return [`links to ${target}, which is not there`]
    const isHeading = anchor === undefined || (anchors.get(file)?.has(anchor) ?? true)
    return isHeading ? [] : [`links to #${anchor}, which is no heading of ${file}`]
  })
}

/** The anchors of headings, as GitHub generates them: letters, digits, `_` and `-`. A repeated anchor gets the suffix `-1`. */
function readAnchors(text: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of text.matchAll(HEADING)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = words
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .trim()
      .replaceAll(' ', '-')
    let count = 0
    while (anchors.has(count === 0 ? anchor : `${anchor}-${count}`)) count += 1
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`)
  }
  return anchors
}

/**
 * A service's README names paths relative to its `src/`, its folder, or the root. Other documents may omit the beginning of a
 * path, and also name files that a command writes, such as `dist/` and `results.json`.
 */
function findMissingPaths(tree: SourceTree, path: string, content: string): readonly string[] {
  if (OF_READERS.has(path)) return []
  const folder = posix.dirname(path)
  const places = [posix.join(tree.root, folder, 'src'), posix.join(tree.root, folder), tree.root]
  const isThere = (named: string): boolean =>
    places.some((place) => existsSync(posix.join(place, named))) ||
    (!SERVICE_README.test(path) &&
      (/(?:\/|\.json)$/.test(named) || tree.files.some((file) => file.path.endsWith(`/${named}`))))
  return [...content.matchAll(PATH_IN_BACKTICKS)]
    .map(([, named = '']) => named)
    .filter((named) => !isThere(named))
    .map((named) => `names ${named}, which is not there`)
}

/** Removes code blocks, because brackets in code are not links. The line numbers stay the same. */
function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, (block) => block.replaceAll(/[^\n]/g, ''))
}
