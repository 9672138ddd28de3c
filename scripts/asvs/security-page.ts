import {
  type Chapter,
  type Program,
  type Requirement,
  SERVICES,
  type Service,
  type ServiceStanding,
} from './requirement.ts'
import type { TaggedTest } from './test-tags.ts'

const INTRODUCTION = `# Security by requirement

<!-- Written by scripts/write-security.ts from the tables in scripts/asvs and the tags in the tests. -->

How auth, payments and inventory stand to every requirement of levels 1 and 2 of the [OWASP Application Security Verification Standard 5.0.0](https://owasp.org/www-project-application-security-verification-standard/), in our words.

- **met**: the linked tests show it. \`npm run check\` runs them. A test without the name of a service is of code that several services share; inventory is built on [the framework](../packages/endpoints/README.md), so tests of the framework count for inventory.
- **documented**: the requirement asks for words, or the operator must meet it. The linked page has the words.
- **met when strict**: auth meets it with [\`AUTH_PROFILE=strict\`](reference/auth.md#profiles). The default profile keeps the API that existing clients expect.
- **deviation**: the service does not meet it, for the reason given.
- **not applicable**: the service has nothing that the requirement is about.
- **–**: the whole chapter does not apply to the service. The next section says why.

What an operator must do is in [SECURITY.md](../SECURITY.md).
`

const CONSOLE = `## Console

The [console](../services/console/README.md) is in none of the columns above, because it has no accounts, no database and no API: auth signs operators in, and each service decides what they may do ([console reference](reference/console.md#credentials)). It has pages, forms and sessions, and these requirements of its own are shown by its tests. The other requirements have not been judged for it.
`

type Verdict = 'met' | 'documented' | 'met when strict' | 'deviation' | 'not applicable' | '–'

const VERDICTS: readonly Verdict[] = ['met', 'documented', 'met when strict', 'deviation', 'not applicable', '–']

/** Lists requirements without a test or a reason, tags of unknown requirements, and tests of inapplicable requirements. */
export function listProblems(chapters: readonly Chapter[], tests: readonly TaggedTest[]): readonly string[] {
  const requirements = chapters.flatMap((chapter) => chapter.requirements)
  const known = new Set(requirements.map(({ id }) => id))
  const pairs = requirements.flatMap((requirement) => SERVICES.map((service) => ({ requirement, service })))
  return [
    ...pairs
      .filter(({ requirement, service }) => needsTest(requirement.standings[service]))
      .filter(({ requirement, service }) => !tests.some((test) => isShownBy(test, requirement, service)))
      .map(({ requirement, service }) => `${requirement.id} has no test of ${service}, and no other answer`),
    ...pairs
      .filter(({ requirement, service }) => isNone(requirement.standings[service]))
      .filter(({ requirement, service }) =>
        tests.some((test) => test.services.length === 1 && isShownBy(test, requirement, service)),
      )
      .map(({ requirement, service }) => `${requirement.id} has tests of ${service} though it does not apply`),
    ...tests.flatMap(({ path, line, requirements: ids }) =>
      ids.filter((id) => !known.has(id)).map((id) => `${path}:${line}: there is no requirement ${id} of level 1 or 2`),
    ),
  ]
}

function isShownBy({ requirements, services }: TaggedTest, { id }: Requirement, service: Program): boolean {
  return requirements.includes(id) && services.includes(service)
}

/** Whether a test must prove the standing: it is met, or the strict profile removes the deviation. */
function needsTest(standing: ServiceStanding): boolean {
  if (typeof standing === 'string') return standing === 'met'
  return 'deviation' in standing && standing.strict !== undefined
}

function isNone(standing: ServiceStanding): boolean {
  return typeof standing === 'string' ? standing === 'outside' : 'notApplicable' in standing
}

export function listDocuments(
  chapters: readonly Chapter[],
): readonly { readonly file: string; readonly anchor: string }[] {
  const standings = chapters.flatMap(({ requirements }) =>
    requirements.flatMap((requirement) => SERVICES.map((service) => requirement.standings[service])),
  )
  const places = standings.flatMap((standing) =>
    typeof standing === 'object' && 'documented' in standing ? [standing.documented] : [],
  )
  return [...new Set(places)].map((place) => {
    const [file = '', anchor = ''] = place.split('#')
    return { file, anchor }
  })
}

export function writePage(chapters: readonly Chapter[], tests: readonly TaggedTest[]): string {
  const head = ['#', 'Level', 'Asks', ...SERVICES, 'How']
  const rows = chapters
    .filter(({ requirements }) => requirements.length > 0)
    .flatMap(({ title, requirements }) => [
      ['', '', `**${title}**`, ...SERVICES.map(() => ''), ''],
      ...requirements.map((requirement) => toRow(requirement, tests)),
    ])
  return [
    INTRODUCTION,
    `## Chapters that do not apply\n\n${chapters.flatMap(toOutside).join('\n')}\n`,
    `## Summary\n\n${toSummary(chapters)}`,
    `## Requirements\n\n${toTable(head, rows)}`,
    `${CONSOLE}\n${toConsole(chapters, tests)}`,
  ].join('\n')
}

function toConsole(chapters: readonly Chapter[], tests: readonly TaggedTest[]): string {
  const rows = chapters
    .flatMap(({ requirements }) => requirements)
    .map((requirement) => ({ requirement, shown: tests.filter((test) => isShownBy(test, requirement, 'console')) }))
    .filter(({ shown }) => shown.length > 0)
    .map(({ requirement: { id, level, asks }, shown }) => [id, level, asks, shown.map(toLink).join('<br>')])
  return toTable(['#', 'Level', 'Asks', 'Shown by'], rows)
}

function toOutside({ title, outside }: Chapter): readonly string[] {
  const groups = groupServices((service) => outside[service])
  return groups.map(([reason, services]) => `- ${title}, ${toNames(services) ?? 'all services'}: ${reason}.`)
}

function toSummary(chapters: readonly Chapter[]): string {
  const requirements = chapters.flatMap((chapter) => chapter.requirements)
  const rows = SERVICES.map((service) => {
    const verdicts = requirements.map((requirement) => verdictOf(requirement.standings[service]))
    return [service, ...VERDICTS.map((verdict) => verdicts.filter((each) => each === verdict).length)]
  })
  return toTable(['Service', ...VERDICTS], rows)
}

function toRow(requirement: Requirement, tests: readonly TaggedTest[]): readonly (string | number)[] {
  const { id, level, asks, standings } = requirement
  const words = groupServices((service) => explain(standings[service])).map(prefix)
  const links = tests
    .filter((test) => SERVICES.some((service) => isShownBy(test, requirement, service)))
    .map((test) => [toLink(test), test.services] as const)
  const verdicts = SERVICES.map((service) => verdictOf(standings[service]))
  return [id, level, asks, ...verdicts, [...words, ...links.map(prefix)].join('<br>')]
}

/** The services grouped by their text, in order. */
function groupServices(say: (service: Service) => string | undefined): readonly (readonly [string, Service[]])[] {
  const groups = new Map<string, Service[]>()
  for (const service of SERVICES) {
    const said = say(service)
    if (said !== undefined) groups.set(said, [...(groups.get(said) ?? []), service])
  }
  return [...groups]
}

function prefix([text, services]: readonly [string, readonly Program[]]): string {
  const names = toNames(services)
  return names === undefined ? text : `${names}: ${text}`
}

function toNames(services: readonly Program[]): string | undefined {
  return services.length === SERVICES.length ? undefined : services.join(', ')
}

function verdictOf(standing: ServiceStanding): Verdict {
  if (standing === 'met') return 'met'
  if (standing === 'outside') return '–'
  if ('documented' in standing) return 'documented'
  if ('notApplicable' in standing) return 'not applicable'
  return standing.strict === undefined || standing.isPartial ? 'deviation' : 'met when strict'
}

function explain(standing: ServiceStanding): string | undefined {
  if (typeof standing === 'string') return undefined
  if ('notApplicable' in standing) return `Because ${standing.notApplicable}.`
  if ('documented' in standing) {
    const link = `[${standing.documented}](../${standing.documented})`
    return standing.note === undefined ? link : `${standing.note}: ${link}`
  }
  const { deviation, strict } = standing
  return [`Deviation: ${deviation}.`, ...(strict === undefined ? [] : [`Strict: ${strict}.`])].join('<br>')
}

function toLink({ path, title }: TaggedTest): string {
  return `[${title.replaceAll(/[[\]|<>*_`\\]/g, '\\$&')}](../${path})`
}

function toTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `${lines.join('\n')}\n`
}
