import type { DescribedSetting } from './describe-settings.ts'

/** Settings of a service, or of what starts them. */
export interface ExamplePart {
  /** The name of the service, such as `auth`; empty for groups whose names need no prefix. */
  readonly name: string
  readonly settings: readonly DescribedSetting[]
}

const WIDTH = 120
/** Forms that the head of the file explains, or that need no explanation. */
const PLAIN = new Set([
  'flag',
  'duration',
  'list',
  'text',
  'port',
  'URL',
  'URI',
  'postgres:// URL',
  'email address',
  'the name of a header',
  'whole number',
])

const HEAD = `# Every setting, with its default. Copy this file to .env and change what you need; the environment wins over .env.
# A line that begins with a name is required by its service; \`npm start\` gives it a development value.
# Flags: true/false, 1/0, t/f, yes/no, y/n in any case. Durations: 300ms, 1.5h, 2h45m, or a number of seconds.
# Lists: separated by commas. An empty value counts as not set. Written by \`pnpm settings\`.
`

/**
 * The text of `.env.example`: a line of explanation above each setting, or above several settings with the same explanation.
 */
export function envExample(parts: readonly ExamplePart[]): string {
  const sections = parts.flatMap(({ name, settings }) =>
    [...Map.groupBy(settings, ({ group }) => group)].map(([title, members]) => section(name, title, members)),
  )
  return [HEAD, ...sections].join('\n')
}

function section(part: string, title: string, settings: readonly DescribedSetting[]): string {
  const heading = `# --- ${part === '' ? title : `${part}: ${lowerFirst(title)}`} `.padEnd(WIDTH, '-')
  const about = settings.find((setting) => setting.about !== '')?.about ?? ''
  return [...(about === '' ? [heading] : [`${heading}\n${comment(about)}`]), ...blocksOf(settings)]
    .join('\n\n')
    .concat('\n')
}

/** The scheme of a URL stays in lower case. */
function upperFirst(text: string): string {
  return /^[a-z]+:/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)
}

/** Acronyms and names keep their capitals. */
function lowerFirst(title: string): string {
  return /^[A-Z][a-z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title
}

function blocksOf(settings: readonly DescribedSetting[]): readonly string[] {
  const blocks: { readonly key: unknown; readonly members: DescribedSetting[] }[] = []
  for (const setting of settings) {
    const key = setting.pattern === undefined ? explanation(setting) : setting.words
    const last = blocks.at(-1)
    if (last?.key === key) last.members.push(setting)
    else blocks.push({ key, members: [setting] })
  }
  return blocks.flatMap(({ members }) => block(members))
}

function block(settings: readonly DescribedSetting[]): readonly string[] {
  const patterns = Map.groupBy(settings, ({ pattern }) => pattern)
  const [first] = settings
  if (first === undefined) return []
  if (patterns.size === 1) return [[comment(explanation(first)), ...settings.map(line)].join('\n')]
  const explained = [...patterns].flatMap(([pattern, [member]]) =>
    member === undefined ? [] : comment(`${pattern}: ${explanation(member)}`),
  )
  const words = Object.entries(first.words).map(([word, text]) => {
    const names = new Set([...patterns.keys()].map((pattern) => pattern?.replace(/<\w+>/, word)))
    const lines = settings.filter(({ name }) => names.has(name)).map(line)
    return [...(text === '' ? [] : [comment(`${word}: ${text}.`)]), ...lines].join('\n')
  })
  return [explained.join('\n'), ...words]
}

function explanation({ meaning, form, allowed, aliases }: DescribedSetting): string {
  const values = [form, allowed].filter((part) => part !== '').join(form === 'one of' ? ' ' : ', ')
  const isSaid = PLAIN.has(form) && allowed === ''
  return [
    meaning,
    ...(isSaid ? [] : [`${upperFirst(values)}.`]),
    ...(aliases.length === 0 ? [] : [`Also read: ${aliases.join(', ')}.`]),
  ].join(' ')
}

/** The text as a comment, without the marks of Markdown, in lines of at most WIDTH characters. */
function comment(text: string): string {
  const lines: string[] = []
  for (const word of text.replaceAll('`', '').split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`# ${word}`)
  }
  return lines.join('\n')
}

function line({ name, default: value, form, allowed, isRequired }: DescribedSetting): string {
  const only = form === 'one of' && isRequired && !allowed.includes(',') ? allowed : value
  const quote = only.includes('"') ? "'" : '"'
  return `${isRequired ? '' : '# '}${name}=${/[\s#"'{}]/.test(only) ? quote + only + quote : only}`
}
