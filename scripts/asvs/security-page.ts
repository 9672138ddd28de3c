import type { Chapter, Requirement, Standing } from './requirement.ts'
import type { TaggedTest } from './test-tags.ts'

const INTRODUCTION = `# Security of auth, by requirement

<!-- Written by scripts/write-security.ts from the tables in scripts/asvs and the tags in the tests. -->

How the service stands to the requirements of levels 1 and 2 of the [OWASP Application Security Verification Standard 5.0.0](https://owasp.org/www-project-application-security-verification-standard/) on authentication, sessions, authorization, self-contained tokens, OAuth and OpenID Connect, in our words. What is met is shown by the tests that are named; each runs with \`npm test\`. What is not met is named as a deviation, with its reason: most come from the API that existing clients expect. [\`AUTH_PROFILE=strict\`](../services/auth/README.md#the-strict-profile) closes those that no client needs.

Rules that the operator must keep are in [SECURITY.md](../SECURITY.md).
`

type Verdict = 'met' | 'documented' | 'met when strict' | 'deviation' | 'not applicable'

const VERDICTS: readonly Verdict[] = ['met', 'documented', 'met when strict', 'deviation', 'not applicable']

/** What does not go together: a requirement that nothing answers, a tag for none, a test of what does not apply. */
export function listProblems(chapters: readonly Chapter[], tests: readonly TaggedTest[]): readonly string[] {
  const requirements = chapters.flatMap((chapter) => chapter.requirements)
  const known = new Map(requirements.map((requirement) => [requirement.id, requirement]))
  const tagged = new Set(tests.flatMap((test) => test.requirements))
  const isNone = ({ standing }: Requirement): boolean => standing !== undefined && 'notApplicable' in standing
  return [
    ...requirements
      .filter(({ id, standing }) => needsTest(standing) && !tagged.has(id))
      .map(({ id }) => `${id} has no test, and is neither documented nor a deviation nor not applicable`),
    ...requirements
      .filter((requirement) => isNone(requirement) && tagged.has(requirement.id))
      .map(({ id }) => `${id} has tests though it does not apply`),
    ...tests.flatMap(({ path, line, requirements: ids }) =>
      ids.filter((id) => !known.has(id)).map((id) => `${path}:${line}: there is no requirement ${id} of level 1 or 2`),
    ),
  ]
}

/** What the strict profile closes is tested, like what is met. */
function needsTest(standing: Standing | undefined): boolean {
  return standing === undefined || ('deviation' in standing && standing.strict !== undefined)
}

/** The pages that requirements are documented on, with their headings. */
export function listDocuments(
  chapters: readonly Chapter[],
): readonly { readonly file: string; readonly anchor: string }[] {
  const places = chapters.flatMap(({ requirements }) =>
    requirements.flatMap(({ standing }) => (standing && 'documented' in standing ? [standing.documented] : [])),
  )
  return [...new Set(places)].map((place) => {
    const [file = '', anchor = ''] = place.split('#')
    return { file, anchor }
  })
}

/** The page, from its tables and the tagged tests. */
export function writePage(chapters: readonly Chapter[], tests: readonly TaggedTest[]): string {
  return [INTRODUCTION, toSummary(chapters), ...chapters.map((chapter) => toSection(chapter, tests))].join('\n')
}

function toSummary(chapters: readonly Chapter[]): string {
  const rows = chapters.map(({ title, requirements }) => {
    const counts = VERDICTS.map((verdict) => requirements.filter((one) => verdictOf(one) === verdict).length)
    return [title, ...counts]
  })
  return toTable(['Chapter', ...VERDICTS], rows)
}

function toSection({ title, requirements }: Chapter, tests: readonly TaggedTest[]): string {
  const rows = requirements.map((requirement) => {
    const { id, level, asks } = requirement
    const own = tests.filter((test) => test.requirements.includes(id))
    return [id, level, asks, verdictOf(requirement), [...explain(requirement), ...own.map(toLink)].join('<br>')]
  })
  return `## ${title}\n\n${toTable(['#', 'Level', 'Asks', 'Stands', 'How'], rows)}`
}

function verdictOf({ standing }: Requirement): Verdict {
  if (standing === undefined) return 'met'
  if ('documented' in standing) return 'documented'
  if ('notApplicable' in standing) return 'not applicable'
  return standing.strict === undefined || standing.isPartial ? 'deviation' : 'met when strict'
}

function explain({ standing }: Requirement): readonly string[] {
  if (standing === undefined) return []
  if ('documented' in standing) return [`[${standing.documented}](../${standing.documented})`]
  if ('notApplicable' in standing) return [`Because ${standing.notApplicable}.`]
  const { deviation, strict } = standing
  return [`Deviation: ${deviation}.`, ...(strict === undefined ? [] : [`Strict: ${strict}.`])]
}

function toLink({ path, title }: TaggedTest): string {
  return `[${title.replaceAll(/[[\]|<>*_`\\]/g, '\\$&')}](../${path})`
}

function toTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `${lines.join('\n')}\n`
}
