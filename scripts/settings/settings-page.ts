import type { DescribedSetting } from './describe-settings.ts'

/** The settings that a profile of a service changes. */
export interface ProfileSettings {
  /** The name of the profile, such as `strict`. */
  readonly profile: string
  /** How the profile changes the settings, as the second part of a sentence. */
  readonly change: string
  readonly settings: readonly DescribedSetting[]
}

/** A page of docs/settings. */
export interface SettingsPage {
  /** The service, or the programs that read the settings. */
  readonly owner: string
  /** The file or folder that declares the settings. */
  readonly source: string
  readonly settings: readonly DescribedSetting[]
  readonly profiles?: readonly ProfileSettings[]
}

/** The text of a page: a table per group, and a table per profile that changes settings. */
export function settingsPage({ owner, source, settings, profiles = [] }: SettingsPage): string {
  const groups = Map.groupBy(settings, ({ group }) => group)
  return [
    `# Settings of ${owner}`,
    `Written by \`pnpm settings\` from \`${source}\`. [How settings are read](README.md) says what the forms are, what a secret is, and where values come from.`,
    ...[...groups].flatMap(([title, members]) => section(title, members)),
    ...profiles.flatMap((profile) => profileSection(owner, profile)),
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

function section(title: string, settings: readonly DescribedSetting[]): readonly string[] {
  const about = settings.find((setting) => setting.about !== '')?.about ?? ''
  const rows = shownOnce(settings).map(
    (setting) =>
      `| \`${shownName(setting)}\` | ${formCell(setting)} | ${defaultCell(setting)} | ${meaningCell(setting)} |`,
  )
  return [
    `## ${title}`,
    ...(about === '' ? [] : [about]),
    ['| Setting | Form | Default | Meaning |', '|---|---|---|---|', ...rows].join('\n'),
    ...wordLists(settings),
  ]
}

function profileSection(service: string, { profile, change, settings }: ProfileSettings): readonly string[] {
  if (settings.length === 0) return []
  const rows = shownOnce(settings).map(
    (setting) => `| \`${shownName(setting)}\` | ${formCell(setting)} | ${defaultCell(setting)} |`,
  )
  return [
    `## The ${profile} profile`,
    `With \`${service.toUpperCase()}_PROFILE=${profile}\` these settings ${change}.`,
    ['| Setting | Form | Default |', '|---|---|---|', ...rows].join('\n'),
  ]
}

/** Keeps one row for a setting that exists for several words. */
function shownOnce(settings: readonly DescribedSetting[]): readonly DescribedSetting[] {
  return [...Map.groupBy(settings, shownName).values()].flatMap(([first]) => first ?? [])
}

function shownName({ name, pattern }: DescribedSetting): string {
  return pattern ?? name
}

function formCell({ form, allowed, isSecret }: DescribedSetting): string {
  const words = allowed.split(', ').map((word) => `\`${word}\``)
  const values =
    form === 'one of' ? `one of ${words.join(', ')}` : [form, allowed].filter((part) => part !== '').join(', ')
  return escapePipes(isSecret ? `${values}, **secret**` : values)
}

function defaultCell(setting: DescribedSetting): string {
  if (setting.isRequired) return '**required**'
  return setting.default === '' ? '' : escapePipes(`\`${setting.default}\``)
}

function meaningCell({ meaning, aliases }: DescribedSetting): string {
  const names = aliases.map((alias) => `\`${alias}\``).join(', ')
  return escapePipes(names === '' ? meaning : `${meaning} Also read: ${names}.`)
}

function wordLists(settings: readonly DescribedSetting[]): readonly string[] {
  const families = Map.groupBy(
    settings.filter(({ pattern }) => pattern !== undefined),
    ({ words }) => words,
  )
  return [...families].map(([words, members]) => {
    const patterns = [...new Set(members.map((member) => `\`${shownName(member)}\``))]
    const texts = Object.entries(words)
    const place = /<\w+>/.exec(patterns[0] ?? '')?.[0]
    const head = `\`${place}\` in ${patterns.join(', ')} is one of`
    return texts.every(([, text]) => text === '')
      ? `${head} ${texts.map(([word]) => `\`${word}\``).join(', ')}.`
      : [`${head}:`, '', ...texts.map(([word, text]) => `- \`${word}\`: ${text}`)].join('\n')
  })
}

function escapePipes(text: string): string {
  return text.replaceAll('|', '\\|')
}
