import { posix } from 'node:path'
import type { Problem, Rule, SourceTree } from './source-tree.ts'

const DOCUMENT = 'docs/architecture.md'
const FILES_MAX = 10
const STEP = /^\d+\. \[[^\]]*\]\(([^)#]+)\)/
const VALUE = /^The value is `([^`]+)`/

/** The way of one value from a request to its row. */
export interface Walk {
  readonly title: string
  /** The name of the value; undefined if the section does not name it. */
  readonly value: string | undefined
  /** Line of the heading, counted from 1. */
  readonly line: number
  /** Paths from the root, in the order of the walk. */
  readonly files: readonly string[]
}

/**
 * A walk of docs/architecture.md is short enough to be read, and true: every file names the value, and every file but the
 * first is named by an earlier file of the walk, or built for it by `deps.ts`.
 */
export const walks: Rule = (tree) => {
  const texts = new Map(tree.files.map(({ path, text }) => [path, text]))
  return readWalks(tree).flatMap(({ title, value, line, files }) => {
    const refuse = (message: string): Problem => ({ path: DOCUMENT, line, message: `${title}: ${message}` })
    if (value === undefined) return [refuse('say its name: "The value is `amount`"')]
    return [
      ...(files.length === 0 || files.length > FILES_MAX
        ? [refuse(`crosses ${files.length} files, not 1 to ${FILES_MAX}`)]
        : []),
      ...files
        .filter((path) => !plain(texts.get(path) ?? '').includes(plain(value)))
        .map((path) => refuse(`${path} does not name ${value}`)),
      ...files
        .filter((path, index) => index > 0 && !files.slice(0, index).some((one) => leadsTo(one, path, texts)))
        .map((path) => refuse(`no earlier file names ${path}`)),
    ]
  })
}

/** The walks of docs/architecture.md: the sections below "## Walks". */
export function readWalks(tree: SourceTree): readonly Walk[] {
  const lines = tree.files.find(({ path }) => path === DOCUMENT)?.text.split('\n') ?? []
  const start = lines.indexOf('## Walks')
  if (start < 0) return []
  const end = lines.findIndex((text, index) => index > start && text.startsWith('## '))
  const section = lines.slice(0, end < 0 ? undefined : end)
  const headings = section.flatMap((text, index) => (index > start && text.startsWith('### ') ? [index] : []))
  return headings.map((heading, index) => {
    const own = section.slice(heading + 1, headings[index + 1])
    const targets = own.flatMap((text) => STEP.exec(text)?.[1] ?? [])
    return {
      title: section[heading]?.slice('### '.length) ?? '',
      value: own.flatMap((text) => VALUE.exec(text)?.[1] ?? [])[0],
      line: heading + 1,
      files: targets.map((target) => posix.join(posix.dirname(DOCUMENT), target)),
    }
  })
}

/** The value has two names: `redirectTo` in TypeScript and `redirect_to` in SQL. */
function plain(text: string): string {
  return text.replaceAll('_', '').toLowerCase()
}

/** Whether a file names another file: directly, or by dependencies that `deps.ts` builds. */
function leadsTo(from: string, to: string, texts: ReadonlyMap<string, string>): boolean {
  const text = texts.get(from) ?? ''
  const [deps = ''] = /^services\/[^/]+\/src\//.exec(from) ?? []
  return names(text, to) || (names(text, 'deps.ts') && names(texts.get(`${deps}deps.ts`) ?? '', to))
}

/** TypeScript names a file by the end of its path, and a SQL function by the name of its file without an ending. */
function names(text: string, path: string): boolean {
  return text.includes(posix.basename(path, '.sql'))
}
