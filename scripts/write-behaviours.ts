// Writes the tables of docs/coming-from-supabase-auth.md from the behaviours of auth; `--check` compares instead.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { KEPT_DIFFERENCES, OPTIONS_BY_SUBJECT, SETTING_DEFAULTS } from '../services/auth/src/config/compatibility.ts'
import { SETTINGS_WITHOUT_EFFECT } from '../services/auth/src/config/profile.ts'

const BEGIN = '<!-- Written by `pnpm behaviours` -->'
const END = '<!-- Until here -->'

/**
 * Returns the page with tables of auth's behaviours.
 * @param page contains the two comments around the old tables
 * @throws Error if they are missing
 */
export function withBehaviours(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin === -1 || end < begin) throw new Error(`the page lacks ${BEGIN} or ${END}`)
  return `${page.slice(0, begin + BEGIN.length)}\n\n${tables()}\n\n${page.slice(end)}`
}

function tables(): string {
  const behaviours = Object.entries(OPTIONS_BY_SUBJECT).flatMap(([title, rows]) => [
    `#### ${title}`,
    table(
      ['Subject', '`compatible`', '`supabase`', 'Why'],
      Object.values(rows).map(({ subject, compatible, supabase, reason }) => [
        subject,
        compatible.words,
        supabase.words,
        reason,
      ]),
    ),
  ])
  const defaults = Object.entries(SETTING_DEFAULTS).map(([name, { compatible, supabase, reason }]) => [
    `\`AUTH_${name}\``,
    `\`${compatible}\``,
    `\`${supabase}\``,
    reason,
  ])
  const kept = KEPT_DIFFERENCES.map(({ subject, ours, theirs, reason }) => [subject, ours, theirs, reason])
  return [
    '### Behaviours',
    ...behaviours,
    '### Defaults of settings',
    'An explicit value wins.',
    table(['Setting', '`compatible`', '`supabase`', 'Why'], defaults),
    '### Settings without effect',
    'The first row that fits a name holds.',
    table(['Settings', 'Here', 'Safe'], settingsWithoutEffect()),
    '### What stays as it is',
    'In every profile.',
    table(['Subject', 'This service', 'supabase/auth', 'Why'], kept),
  ].join('\n\n')
}

/** Combines consecutive entries with the same texts in one row. */
function settingsWithoutEffect(): readonly (readonly string[])[] {
  const safe = { always: 'always', 'while off': 'while it is off or empty', 'while on': 'while it is on' }
  const rows: (readonly [string, string, string])[] = []
  for (const { pattern, instead, harmless } of SETTINGS_WITHOUT_EFFECT) {
    const name = `\`GOTRUE_${pattern.replace('*', '…')}\``
    const last = rows.at(-1)
    if (last?.[1] === instead && last[2] === safe[harmless])
      rows[rows.length - 1] = [`${last[0]}, ${name}`, last[1], last[2]]
    else rows.push([name, instead, safe[harmless]])
  }
  return rows
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

if (import.meta.main) {
  const path = join(import.meta.dirname, '..', 'docs', 'coming-from-supabase-auth.md')
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const found = readFileSync(path, 'utf8')
  const page = withBehaviours(found)
  if (!values.check) writeFileSync(path, page)
  else if (page !== found) {
    console.error('docs/coming-from-supabase-auth.md differs from the behaviours of auth; run: pnpm behaviours')
    process.exitCode = 1
  }
}
