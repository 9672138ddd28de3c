import type { SourceFile } from '../layout/source-tree.ts'
import { lineAt } from '../layout/syntax.ts'
import type { Program } from './requirement.ts'
import { type TitledCall, titledCallsOf } from './titled-calls.ts'

/** A test, or a group of them, that shows requirements to be met: `// ASVS 6.2.1, 6.2.4` is the line above it. */
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

/** Every tagged test. @throws Error for a tag above no test, or beside code that no service runs */
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

/** The tests and groups of a file by the line where they begin. */
function testsOf(file: SourceFile): readonly { readonly line: number; readonly title: string }[] {
  const found = titledCallsOf(file).filter(({ form }) => form === 'text')
  return found.map((test) => ({ line: lineAt(file.text, test.start), title: titleOf(test, found) }))
}

/** The title of a table of cases says little (`%s: %j`), so the title of its group comes first. */
function titleOf({ start, end, title }: TitledCall, all: readonly TitledCall[]): string {
  if (!title.includes('%')) return title
  const group = all.filter((other) => other.start < start && other.end > end).at(-1)
  return group === undefined ? title : `${group.title}: ${title}`
}
