// Fails for a commit that breaks the rules of CONTRIBUTING: `node scripts/check-commits.ts [base]` reads the commits that
// HEAD has and the base has not. The base is the one that COMMITS_SINCE names, or else origin/main, or else main. In CI, a
// clone without a base fails: nothing would be checked.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const TYPES = ['feat', 'fix', 'refactor', 'perf', 'test', 'docs', 'build', 'ci', 'chore']
const PRODUCTS = ['auth', 'payments', 'inventory', 'endpoints']
const PARTS = ['common', 'database', 'jobs', 'service', 'stack', 'testing', 'migrations', 'bench', 'repo']
const SUBJECT = new RegExp(`^(?:${TYPES.join('|')})(?:\\((?:${[...PRODUCTS, ...PARTS].join('|')})\\))?: [a-z]`)
const SUBJECT_LENGTH_MAX = 72
/** Three words or more, and a full stop. */
const SENTENCE = /(\S+\s+){2}\S+\.(\s|$)/
/** `Co-authored-by: …` and the like. */
const TRAILER = /^[A-Z][a-z]+(-[a-z]+)+: .*$/gm
/** Where a branch starts, when nothing else is named. */
const BASES = ['origin/main', 'main']

/** What breaks the rules in the message of a commit: its subject, an empty line, and a body. Empty when nothing does. */
export function problemsOfMessage(message: string): readonly string[] {
  const [subject = '', gap = '', ...body] = message.trim().split('\n')
  const refuse = (isBroken: boolean, problem: string): readonly string[] => (isBroken ? [problem] : [])
  return [
    ...refuse(!SUBJECT.test(subject), 'the subject is not "type(scope): imperative, lower case"'),
    ...refuse(
      subject.length > SUBJECT_LENGTH_MAX,
      `the subject has ${subject.length} characters, not ${SUBJECT_LENGTH_MAX}`,
    ),
    ...refuse(/ and /.test(subject), '"and" in the subject: make two commits'),
    ...refuse(subject.includes(','), 'a comma in the subject: make a commit for each of its parts'),
    ...refuse(subject.endsWith('.'), 'the subject ends with a full stop'),
    ...refuse(gap !== '', 'no empty line below the subject'),
    ...refuse(!SENTENCE.test(body.join('\n').replaceAll(TRAILER, '')), 'no sentence in the body says why'),
  ]
}

/** The result of comparing a checkout with a base. */
export interface CheckedCommits {
  readonly count: number
  /** Oldest first, each after its commit. */
  readonly problems: readonly string[]
}

/**
 * Checks the commits since `base`. Merges have no rules. A subject that an earlier commit of the whole history has is a
 * problem. Undefined when the base is not in this clone, as in a shallow one, or when there is no repository.
 */
export function checkCommits(root: string, base: string): CheckedCommits | undefined {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    git('rev-parse', '--verify', '--quiet', `${base}^{commit}`)
  } catch {
    return undefined
  }
  const subjects = new Set(git('log', '--no-merges', '--format=%s', base).split('\n'))
  const commits = git('log', '--reverse', '--no-merges', '-z', '--format=%h%n%B', `${base}..HEAD`)
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

/**
 * Checks the commits since the first base that is in the clone, and says what it has done.
 * @param named the base that the caller demands; undefined for the usual ones
 * @param isCi whether a clone without a base fails
 */
export function judgeCommits(
  root: string,
  named: string | undefined,
  isCi: boolean,
): { readonly passed: boolean; readonly lines: readonly string[] } {
  const bases = named === undefined ? BASES : [named]
  for (const base of bases) {
    const checked = checkCommits(root, base)
    if (checked === undefined) continue
    const summary = `${checked.count} commits since ${base}, ${checked.problems.length} problems`
    return { passed: checked.problems.length === 0, lines: [...checked.problems, summary] }
  }
  return { passed: !isCi, lines: [`no commit is checked: this clone has no ${bases.join(' and no ')}`] }
}

if (import.meta.main) {
  const { CI, COMMITS_SINCE } = process.env
  // An empty variable is what CI gives when an event has no earlier commit.
  const named = process.argv[2] ?? (COMMITS_SINCE || undefined)
  const { passed, lines } = judgeCommits(join(import.meta.dirname, '..'), named, Boolean(CI))
  for (const line of lines) console.log(line)
  process.exitCode = passed ? 0 : 1
}
