// Fails if a commit breaks the rules of CONTRIBUTING. `node scripts/check-commits.ts [base]` checks the commits of HEAD that are
// not in the base. The default base is COMMITS_SINCE, otherwise origin/main, otherwise main. If HEAD adds no commits, as in a new
// clone, it checks the newest commits. In CI, a clone without a base fails, because the commits of the change are unknown.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const TYPES = ['feat', 'fix', 'refactor', 'perf', 'test', 'docs', 'build', 'ci', 'chore']
const PRODUCTS = ['auth', 'payments', 'inventory', 'console', 'endpoints']
const PARTS = [
  'common',
  'citus',
  'database',
  'jobs',
  'operators',
  'rate-limits',
  'service',
  'stack',
  'testing',
  'packages',
  'migrations',
  'bench',
  'repo',
]
const SUBJECT = new RegExp(`^(?:${TYPES.join('|')})\\((?:${[...PRODUCTS, ...PARTS].join('|')})\\): [a-z]`)
const SUBJECT_LENGTH_MAX = 72
/** A sentence of at least eight words with a full stop. A shorter one such as `No statement changes.` gives no reason. */
const SENTENCE = /(?:[^\s.]\S*(?<!\.)\s+){7}\S+\.(?:\s|$)/
const UNFINISHED = /\b(?:work in progress|wip)\b/i
/** A trailer such as `Co-authored-by: …`. */
const TRAILER = /^[A-Z][a-z]+(-[a-z]+)+: .*$/gm
/** The default bases of a branch. */
const BASES = ['origin/main', 'main']
/** The number of commits to check if HEAD adds none to its base. */
const NEWEST_COUNT = 20

/**
 * Checks the commits since `base`, or the newest commits if it is `undefined`. Skips merges. Also reports a subject that any
 * earlier commit already has. @throws Error if the clone does not contain the base
 */
export function checkCommits(root: string, base: string | undefined): CheckedCommits {
  const list = (...args: readonly string[]): string => git(root, 'log', '--no-merges', ...args)
  const start = base ?? list('--format=%H', '--max-count=1', `--skip=${NEWEST_COUNT}`).trim()
  const subjects = new Set(start === '' ? [] : list('--format=%s', start).split('\n'))
  const commits = list('--reverse', '-z', '--format=%h%n%B', start === '' ? 'HEAD' : `${start}..HEAD`)
    .split('\0')
    .filter((commit) => commit !== '')
  const problems = commits.flatMap((commit) => {
    const [hash = '', subject = '', ...rest] = commit.split('\n')
    const repeated = subjects.has(subject) ? ['an earlier commit has the same subject'] : []
    subjects.add(subject)
    const found = [...problemsOfMessage([subject, ...rest].join('\n')), ...repeated]
    return found.map((problem) => `${hash} ${subject}: ${problem}`)
  })
  return { count: commits.length, problems }
}

/** Returns the broken rules of a commit message, which has a subject, an empty line and a body. */
export function problemsOfMessage(message: string): readonly string[] {
  const [subject = '', gap = '', ...body] = message.trim().split('\n')
  const rules: readonly (readonly [isBroken: boolean, problem: string])[] = [
    [!SUBJECT.test(subject), 'the subject is not "type(scope): imperative, lower case"'],
    [subject.length > SUBJECT_LENGTH_MAX, `the subject has ${subject.length} characters, not ${SUBJECT_LENGTH_MAX}`],
    [/ and /.test(subject), '"and" in the subject: make two commits'],
    [/ or /.test(subject), '"or" in the subject: make two commits'],
    [subject.includes(','), 'a comma in the subject: make a commit for each of its parts'],
    [subject.endsWith('.'), 'the subject ends with a full stop'],
    [gap !== '', 'no empty line below the subject'],
    [!SENTENCE.test(body.join('\n').replaceAll(TRAILER, '')), 'no sentence in the body says why'],
    [UNFINISHED.test(message), 'the message says that the work is not done'],
  ]
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []))
}

export interface CheckedCommits {
  readonly count: number
  /** The problems, oldest commit first, each prefixed with its commit. */
  readonly problems: readonly string[]
}

/** Returns the output of a git command. @throws Error if it fails */
function git(root: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

function hasCommit(root: string, name: string): boolean {
  try {
    git(root, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`)
    return true
  } catch {
    return false
  }
}

/**
 * Checks the commits since the first base in the clone, or the newest commits, and reports the result.
 * @param demand `named`: the base that the caller demands, or `undefined` for the default bases. `isCi`: whether a clone without
 * a base fails
 */
export function judgeCommits(
  root: string,
  { named, isCi }: { readonly named: string | undefined; readonly isCi: boolean },
): { readonly passed: boolean; readonly lines: readonly string[] } {
  const bases = named === undefined ? BASES : [named]
  const base = bases.find((each) => hasCommit(root, each))
  if (base === undefined && (isCi || !hasCommit(root, 'HEAD'))) {
    return { passed: !isCi, lines: [`no commit is checked: this clone has no ${bases.join(' and no ')}`] }
  }
  const added = base === undefined ? undefined : checkCommits(root, base)
  const isChange = added !== undefined && added.count > 0
  const { count, problems } = isChange ? added : checkCommits(root, undefined)
  const range = isChange ? `${count} commits since ${base}` : `the newest commits, ${count}`
  return { passed: problems.length === 0, lines: [...problems, `${range}: ${problems.length} problems`] }
}

if (import.meta.main) {
  const { CI, COMMITS_SINCE } = process.env
  // CI sets an empty variable if an event has no earlier commit.
  const named = process.argv[2] ?? (COMMITS_SINCE || undefined)
  const { passed, lines } = judgeCommits(join(import.meta.dirname, '..'), { named, isCi: Boolean(CI) })
  for (const line of lines) console.log(line)
  process.exitCode = passed ? 0 : 1
}
