import { type Problem, type Rule, type SourceFile, type SourceTree, serviceNames } from './source-tree.ts'
import { commentsOf, lineAt } from './syntax.ts'

/** Patterns of citations that lead outside the repository. */
const UNOPENABLE = [
  /\bcontracts?\b/gi,
  /\b(?:the|its|this) +spec(?:ification)?\b/gi,
  /(?:\(|@see +)specification\b/gi,
  /\bspec(?:ification)?,? +\d+/gi,
  /\bdesign(?:,? +\d+|\.md)/gi,
]
/** Words that are searched only in comments, because SQL and TypeScript use them with another meaning. */
const UNNAMED_REFERENCE = /\breference,? +\d+/gi
const REFERENCE = /(\(|\b[a-z]+ +)?\breference: +([^).,;`\n]*)/g
const DECISIONS = /\bdecisions? +(\d+(?:(?:, +| +and +)\d+)*)/gi
/** A line break within a comment. An empty line ends a paragraph. */
const LINE_BREAK = /\n[ \t]*(?:--|\/\/|\*(?!\/))[ \t]*(?=\S)/g
const HEADING = /^#{2,6} (.+)$/gm
/** Headings without characters that would end a citation. */
const CITABLE = /^[\w /-]+$/
/** This rule and its test, which contain examples of refused citations. */
const OWN_FILES = /^scripts\/layout\/citations(\.test)?\.ts$/

/** A file, and its text with each comment joined to one line. Offsets are the same in both. */
interface Joined {
  readonly file: SourceFile
  readonly text: string
}

/** The headings of docs/reference/<name>.md, for every service, the framework and the console. */
type References = ReadonlyMap<string, readonly string[]>

/**
 * A citation leads to a page that readers can open. `reference: Refresh tokens` is that heading of the service's own page in
 * docs/reference. Outside the service, the citation is `auth reference: Refresh tokens`. `decision 8` is a file of
 * docs/decisions.
 */
export const citations: Rule = (tree) => {
  const references = readReferences(tree)
  const decisions = new Set(tree.files.filter(({ path }) => path.startsWith('docs/decisions/')).map(numberOf))
  const problems = tree.files
    .filter(({ path }) => /\.(ts|sql|md)$/.test(path) && !OWN_FILES.test(path))
    .map(joinComments)
    .flatMap((joined) => [
      ...UNOPENABLE.flatMap((pattern) => unopenable(joined, joined.text.matchAll(pattern))),
      ...unopenable(joined, matchesInComments(joined, UNNAMED_REFERENCE)),
      ...unresolvedReferences(joined, references),
      ...unknownDecisions(joined, decisions),
    ])
  return [...problems, ...uncitableHeadings(references)]
}

function readReferences(tree: SourceTree): References {
  const names = [...serviceNames(tree), 'endpoints', 'console']
  return new Map(
    names.map((name) => {
      const text = tree.files.find(({ path }) => path === pageOf(name))?.text ?? ''
      return [name, [...text.matchAll(HEADING)].map(([, heading = '']) => heading)]
    }),
  )
}

/** In a document, a paragraph is already one line. */
function joinComments(file: SourceFile): Joined {
  const text = file.text.replaceAll(LINE_BREAK, (found) => ' '.repeat(found.length))
  return { file, text: file.path.endsWith('.md') ? file.text : text }
}

function unopenable({ file }: Joined, found: Iterable<RegExpExecArray>): readonly Problem[] {
  return [...found].map(({ 0: text, index }) => ({
    path: file.path,
    line: lineAt(file.text, index),
    message: `cites "${text.replaceAll(/ +/g, ' ')}", which nobody can open: cite docs/reference as \`reference: Heading\``,
  }))
}

function unresolvedReferences(joined: Joined, references: References): readonly Problem[] {
  const { file } = joined
  return [...matchesInComments(joined, REFERENCE)].flatMap(({ 0: text, 1: lead = '', 2: rest = '', index }) => {
    const heading = headingOf(rest)
    const isNamed = references.has(lead.trim())
    // Prose may also contain `a reference: …`.
    if (!isNamed && (file.path.endsWith('.md') || (lead !== '(' && !/^[A-Z]/.test(heading)))) return []
    const place = { path: file.path, line: lineAt(file.text, index) }
    const name = isNamed ? lead.trim() : ownReference(file)
    if (name === undefined)
      return [{ ...place, message: `cites "${heading}" of no reference: write the name of the reference before it` }]
    const restAt = index + text.length - rest.length
    // A citation without brackets may end at the end of its line.
    const [firstLine = ''] = lead === '(' ? [] : file.text.slice(restAt, restAt + rest.length).split('\n')
    if ([heading, headingOf(firstLine)].some((cited) => references.get(name)?.includes(cited))) return []
    return [{ ...place, message: `cites "${heading}", which is no heading of ${pageOf(name)}` }]
  })
}

function headingOf(cited: string): string {
  return cited
    .replace(/\*\/\s*$/, '')
    .replaceAll(/ +/g, ' ')
    .trim()
}

/** The service of a citation that names no reference. */
function ownReference({ path }: SourceFile): string | undefined {
  if (path.startsWith('packages/endpoints/')) return 'endpoints'
  return /^(?:services|migrations)\/([^/.]+)[/.]/.exec(path)?.[1]
}

function unknownDecisions({ file, text }: Joined, decisions: ReadonlySet<number>): readonly Problem[] {
  return [...text.matchAll(DECISIONS)].flatMap(({ 1: list = '', index }) =>
    [...list.matchAll(/\d+/g)]
      .map(Number)
      .filter((number) => !decisions.has(number))
      .map((number) => ({
        path: file.path,
        line: lineAt(file.text, index),
        message: `cites decision ${number}, which is not in docs/decisions`,
      })),
  )
}

/** A heading cannot be cited if it is repeated or contains a character that ends a citation. */
function uncitableHeadings(references: References): readonly Problem[] {
  return [...references].flatMap(([name, headings]) =>
    headings
      .filter((heading, i) => headings.indexOf(heading) < i || !CITABLE.test(heading))
      .map((heading) => ({
        path: pageOf(name),
        message: `"${heading}" cannot be cited: a heading stands once, in letters, digits, spaces, hyphens and slashes`,
      })),
  )
}

function* matchesInComments({ file, text }: Joined, pattern: RegExp): Iterable<RegExpExecArray> {
  if (text.search(pattern) < 0) return
  const comments = rangesOfComments(file)
  for (const match of text.matchAll(pattern)) {
    if (comments.some(({ start, end }) => start <= match.index && match.index < end)) yield match
  }
}

/** TypeScript comments come from the parser, SQL comments from a pattern. A document counts as one comment. */
function rangesOfComments(file: SourceFile): readonly { readonly start: number; readonly end: number }[] {
  if (file.path.endsWith('.ts')) return commentsOf(file)
  const comment = file.path.endsWith('.sql') ? /--.*/g : /.+/gs
  return [...file.text.matchAll(comment)].map(({ 0: text, index }) => ({ start: index, end: index + text.length }))
}

function pageOf(name: string): string {
  return `docs/reference/${name}.md`
}

/** The number of a decision: 8 for `docs/decisions/0008-routes-mirror-urls.md`. */
function numberOf({ path }: SourceFile): number {
  return Number(/(\d+)[^/]*$/.exec(path)?.[1])
}
