// Fails for a commit that breaks the rules of CONTRIBUTING: `node scripts/check-commits.ts [base]` reads the commits that
// HEAD has and the base has not. The base is the one that COMMITS_SINCE names, or else origin/main, or else main. When HEAD
// adds nothing, as in a new clone, it reads the newest commits. In CI, a clone without a base fails, because the commits
// of the change are unknown there.
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
/** Eight words or more, and a full stop: `No statement changes.` gives no reason. */
const SENTENCE = /(?:[^\s.]\S*(?<!\.)\s+){7}\S+\.(?:\s|$)/
const UNFINISHED = /\b(?:work in progress|wip)\b/i
/** `Co-authored-by: …` and the like. */
const TRAILER = /^[A-Z][a-z]+(-[a-z]+)+: .*$/gm
/** The base of a branch, when nothing else is named. */
const BASES = ['origin/main', 'main']
/** How many commits are read when HEAD adds none to its base. */
const NEWEST_COUNT = 20

/**
 * Checks the commits since `base`, or the newest ones when it is undefined. Merges have no rules. A subject that an earlier
 * commit of the whole history has is a problem. @throws Error when the base is not in this clone
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

/** The broken rules in the message of a commit: its subject, an empty line, and a body. Empty when nothing does. */
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

/** The problems of some commits of a checkout. */
export interface CheckedCommits {
  readonly count: number
  /** Oldest first, each after its commit. */
  readonly problems: readonly string[]
}

/** The output of a command of git. @throws Error when it fails */
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
 * Checks the commits since the first base that is in the clone, or the newest ones, and reports the result.
 * @param demand `named`: the base that the caller demands; undefined for the usual ones. `isCi`: whether a clone without a base
 * fails
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
  // CI gives an empty variable when an event has no earlier commit.
  const named = process.argv[2] ?? (COMMITS_SINCE || undefined)
  const { passed, lines } = judgeCommits(join(import.meta.dirname, '..'), { named, isCi: Boolean(CI) })
  for (const line of lines) console.log(line)
  process.exitCode = passed ? 0 : 1
}
