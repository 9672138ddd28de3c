import type { Problem, Rule, SourceFile } from './source-tree.ts'

/** The states and arrows of a diagram or a table. */
export interface Machine {
  /** The line on which it begins, starting at 1. */
  readonly line: number
  readonly states: ReadonlySet<string>
  /** Arrows such as `open --> used`, with the line of each. `none` stands for `[*]`. */
  readonly arrows: ReadonlyMap<string, number>
  /** The lines that cannot be parsed. */
  readonly problems: readonly { readonly line: number; readonly message: string }[]
}

/**
 * Each state diagram of a README has the same arrows as its table of events: the first diagram as the first table, and so on. A
 * table of events has the heading `Event`, `Event on …` or `Event: …` for its first column and states for the others, where
 * `none` is `[*]`. Each part of a cell begins with a next state, unless nothing changes. An arrow from or to `[*]` without a
 * label is not an event, but marks a first or last state. In its section `## State machines`, a service's README links each
 * README below its `src` that has a diagram.
 */
export const stateDiagrams: Rule = ({ files }) => {
  const readmes = files.filter(({ path }) => path.endsWith('README.md'))
  return [...readmes.flatMap(compareMachines), ...readmes.flatMap((readme) => missingLinks(readmes, readme))]
}

/** The state diagrams of a document, in order. */
export function diagramsOf(text: string): readonly Machine[] {
  const lines = text.split('\n')
  return lines.flatMap((line, i) => (line === 'stateDiagram-v2' ? readDiagram(lines, i) : []))
}

function compareMachines({ path, text }: SourceFile): readonly Problem[] {
  if (!text.includes('stateDiagram')) return []
  const lines = text.split('\n')
  const diagrams = diagramsOf(text)
  const starts = lines.flatMap((line, i) => (/^\| Event( on [^|]+|: [^|]+)? \|/.test(line) ? i : []))
  const lonely = starts.slice(diagrams.length).map((start) => ({ path, line: start + 1, message: 'has no diagram' }))
  const unequal = diagrams.flatMap((diagram, i): readonly Problem[] => {
    const start = starts[i]
    if (start === undefined) return [{ path, line: diagram.line, message: 'has no table of its events' }]
    const table = readTable(lines, start)
    const missing = [
      ...lacks(diagram.arrows, table.arrows, 'draws', `the table in line ${table.line}`),
      ...lacks(table.arrows, diagram.arrows, 'says', `the diagram in line ${diagram.line}`),
    ]
    const unknown = [...diagram.states]
      .filter((state) => state !== 'none' && !table.states.has(state))
      .map((state) => ({ line: table.line, message: `has no column for "${state}"` }))
    return [...diagram.problems, ...table.problems, ...unknown, ...missing].map((problem) => ({ path, ...problem }))
  })
  return [...unequal, ...lonely]
}

/** Reports a missing link in the service's README to a README with a diagram. */
function missingLinks(readmes: readonly SourceFile[], { path, text }: SourceFile): readonly Problem[] {
  const [, service, target] = /^(services\/[^/]+)\/(src\/.+)$/.exec(path) ?? []
  if (service === undefined || diagramsOf(text).length === 0) return []
  const index = `${service}/README.md`
  const [, section = ''] = readmes.find((readme) => readme.path === index)?.text.split('\n## State machines\n') ?? []
  const [links = ''] = section.split('\n## ')
  if (links.includes(`](${target})`) || links.includes(`](${target}#`)) return []
  return [{ path: index, message: `has no link to ${target} below "## State machines"` }]
}

function* lacks(some: Machine['arrows'], others: Machine['arrows'], verb: string, other: string) {
  for (const [arrow, line] of some) {
    if (!others.has(arrow)) yield { line, message: `${verb} ${arrow}, which ${other} lacks` }
  }
}

function readDiagram(lines: readonly string[], start: number): Machine {
  const arrows = new Map<string, number>()
  const states = new Set<string>()
  const problems = []
  for (let i = start + 1; i < lines.length && lines[i] !== '```'; i++) {
    if (/^ {2}state "[^"]+" as \w+$/.test(lines[i] ?? '')) continue
    // In Mermaid, a label ends at a colon or semicolon.
    const [, from, to, label] = /^ {2}(\S+) --> (\w+|\[\*\])(: [^:;]+)?$/.exec(lines[i] ?? '') ?? []
    if (from === undefined || to === undefined) {
      problems.push({ line: i + 1, message: 'is no arrow between two states with a label that Mermaid reads' })
      continue
    }
    const ends = [from, to].map((end) => (end === '[*]' ? 'none' : end))
    const isEvent = label !== undefined || !ends.includes('none')
    for (const end of ends) if (end !== 'none' || isEvent) states.add(end)
    if (isEvent) arrows.set(ends.join(' --> '), i + 1)
  }
  return { line: start + 1, states, arrows, problems }
}

function readTable(lines: readonly string[], start: number): Machine {
  const columns = cellsOf(lines[start]).map((head) => head.split(/, | or /).map(firstWord))
  const states = new Set(columns.flat())
  const arrows = new Map<string, number>()
  const problems = []
  for (let i = start + 2; lines[i]?.startsWith('|'); i++) {
    for (const [column, cell] of cellsOf(lines[i]).entries()) {
      // The text after a colon explains the next state.
      const words = cell
        .replaceAll(/:( [^;]*|$)/g, '')
        .split(/; |, | or /)
        .map((part) => firstWord(part.replace(/^(or|otherwise) /, '')))
      const next = words.filter((word) => word === 'none' || states.has(word))
      if (next.length === 0 && !/^(ignored|refused|another|no such|waits)\b/.test(cell)) {
        problems.push({ line: i + 1, message: `"${cell}" names no next state` })
      }
      for (const from of columns[column] ?? []) for (const to of next) arrows.set(`${from} --> ${to}`, i + 1)
    }
  }
  return { line: start + 1, states, arrows, problems }
}

const firstWord = (text: string): string => /^\w+/.exec(text)?.[0] ?? ''

/** The cells of a row except the first, which names the event. */
function cellsOf(row = ''): readonly string[] {
  return row
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim())
}
