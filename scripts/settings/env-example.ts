import type { DescribedSetting } from './describe-settings.ts'

export interface ExamplePart {
  readonly name: string
  readonly settings: readonly DescribedSetting[]
}

const WIDTH = 120

const HEAD = `# The settings that each service requires. Copy this file to .env, and fill in those of the services that you run.
# The environment wins over .env. \`npm start\` gives each of them a development value, and an empty value counts as not set.
# docs/settings has a page for each service with all of its settings, and docs/settings/stack.md has those of npm start,
# the tests and Docker Compose. Written by \`pnpm settings\`.
`

/** The text of `.env.example`: the required settings of each service, each after its explanation. */
export function envExample(parts: readonly ExamplePart[]): string {
  return [HEAD, ...parts.map(section)].join('\n')
}

function section({ name, settings }: ExamplePart): string {
  const heading = `# --- ${name}: all settings are in docs/settings/${name}.md `.padEnd(WIDTH, '-')
  const required = settings.filter(({ isRequired }) => isRequired)
  return [heading, ...required.map((setting) => `${comment(explanation(setting))}\n${line(setting)}`)]
    .join('\n\n')
    .concat('\n')
}

function explanation({ meaning, aliases }: DescribedSetting): string {
  return aliases.length === 0 ? meaning : `${meaning} Also read: ${aliases.join(', ')}.`
}

/** Formats a text as a comment without Markdown, in lines of at most WIDTH characters. */
function comment(text: string): string {
  const lines: string[] = []
  for (const word of text.replaceAll('`', '').split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`# ${word}`)
  }
  return lines.join('\n')
}

/** If a setting allows only one value, the example has this value. */
function line({ name, form, allowed }: DescribedSetting): string {
  return `${name}=${form === 'one of' && !allowed.includes(',') ? allowed : ''}`
}
