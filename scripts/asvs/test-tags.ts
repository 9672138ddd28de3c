import type { SourceFile } from '../layout/source-tree.ts'
import { lineAt, visitSyntax } from '../layout/syntax.ts'
import type { Program } from './requirement.ts'

/** A test or group of tests that proves requirements. The line `// ASVS 6.2.1, 6.2.4` precedes it. */
export interface TaggedTest {
  readonly path: string
  readonly line: number
  readonly title: string
  readonly requirements: readonly string[]
  /** The programs that run the tested code. */
  readonly services: readonly Program[]
}

/** The programs that run the code of each folder. */
export type Users = ReadonlyMap<string, readonly Program[]>

const TAG = /^ *\/\/ ASVS ([0-9., ]+)$/gm

/** All tagged tests. @throws Error for a tag without a test, or in code that no service runs */
export function listTaggedTests(files: readonly SourceFile[], users: Users): readonly TaggedTest[] {
  return files
    .filter(({ path, text }) => path.endsWith('.test.ts') && text.search(TAG) >= 0)
    .flatMap((file) => tagsOf(file, users))
}

function tagsOf(file: SourceFile, users: Users): readonly TaggedTest[] {
  const tests = testsOf(file)
  const services = [...users].find(([folder]) => file.path.startsWith(`${folder}/`))?.[1]
  return [...file.text.matchAll(TAG)].map((match) => {
    const line = lineAt(file.text, match.index)
    const test = tests.find((candidate) => candidate.line === line + 1)
    if (!test) throw new Error(`${file.path}:${line}: a tag stands on the line above a test`)
    if (!services) throw new Error(`${file.path}:${line}: no service runs the code beside this test`)
    return { path: file.path, ...test, requirements: (match[1] ?? '').split(',').map((id) => id.trim()), services }
  })
}

/** The tests and groups of a file, by the line on which they begin. */
function testsOf(file: SourceFile): readonly { readonly line: number; readonly title: string }[] {
  const found = titledCallsOf(file).filter(({ form }) => form === 'text')
  return found.map((test) => ({ line: lineAt(file.text, test.start), title: titleOf(test, found) }))
}

/** The title of a table of cases (`%s: %j`) says little, so prefix the title of its group. */
function titleOf({ start, end, title }: TitledCall, all: readonly TitledCall[]): string {
  if (!title.includes('%')) return title
  const group = all.filter((other) => other.start < start && other.end > end).at(-1)
  return group === undefined ? title : `${group.title}: ${title}`
}

/** A call that declares a test or a group of tests. Positions are in characters, starting at 0. */
interface TitledCall {
  readonly isGroup: boolean
  /** The title. For a template, the source without quotes. For another expression, the source. */
  readonly title: string
  readonly form: 'text' | 'template' | 'expression'
  readonly start: number
  readonly titleEnd: number
  readonly end: number
}

/**
 * Matches functions that declare a test or a group, including `it.each(cases)`. It excludes calls such as `test.app.inject('…')`,
 * where `test` is a service.
 */
const DECLARES = /^(?:describe|it|test)(?:$|\.(?:each|for|skipIf|runIf|concurrent|sequential|fails|only|skip|todo)\b)/

/**
 * Returns the calls `describe('…', …)`, `it('…', …)` and `test('…', …)` of a file, including `it.each(cases)('…', …)`. A group
 * precedes its tests.
 * @throws Error if the file cannot be parsed
 */
export function titledCallsOf(file: SourceFile): readonly TitledCall[] {
  const found: TitledCall[] = []
  visitSyntax(file, {
    CallExpression({ callee, arguments: [title], start, end }) {
      const called = file.text.slice(callee.start, callee.end)
      if (title === undefined || !DECLARES.test(called)) return
      // `it.each(cases)` is the callee of the call with the title.
      if (/\.(each|for|skipIf|runIf)$/.test(called)) return
      const place = { isGroup: called.startsWith('describe'), start, titleEnd: title.end, end }
      const source = file.text.slice(title.start, title.end)
      if (title.type === 'Literal' && typeof title.value === 'string')
        found.push({ ...place, title: title.value, form: 'text' })
      else if (title.type === 'TemplateLiteral') found.push({ ...place, title: source.slice(1, -1), form: 'template' })
      else found.push({ ...place, title: source, form: 'expression' })
    },
  })
  return found
}
