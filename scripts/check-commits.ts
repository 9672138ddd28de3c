// Fails for a commit that breaks the rules of CONTRIBUTING: `node scripts/check-commits.ts [base]` reads the commits that
// HEAD has and the base has not. The base is origin/main, or the commit that COMMITS_SINCE names.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const TYPES = ['feat', 'fix', 'refactor', 'perf', 'test', 'docs', 'build', 'ci', 'chore']
const SUBJECT = new RegExp(`^(?:${TYPES.join('|')})(?:\\([a-z]+\\))?: [a-z]`)
const LONGEST_SUBJECT = 72

/** What breaks the rules in the message of a commit: its subject, an empty line, and a body. Empty when nothing does. */
export function problemsOfMessage(message: string): readonly string[] {
  const [subject = '', ...rest] = message.trim().split('\n')
  return [
    ...(SUBJECT.test(subject) ? [] : ['the subject is not "type(scope): imperative, lower case"']),
    ...(subject.length > LONGEST_SUBJECT
      ? [`the subject has ${subject.length} characters, not ${LONGEST_SUBJECT}`]
      : []),
    ...(/ and /.test(subject) ? ['"and" in the subject: make two commits'] : []),
    ...(subject.endsWith('.') ? ['the subject ends with a full stop'] : []),
    ...(rest.join('').trim() === '' ? ['no body says why'] : []),
  ]
}

/**
 * The broken rules of the commits since `base`, oldest first, each after its commit. Merges have no rules. Undefined when the
 * base is not in this clone, as in a shallow one, or when there is no repository.
 */
export function checkCommits(root: string, base: string): readonly string[] | undefined {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    git('rev-parse', '--verify', '--quiet', `${base}^{commit}`)
  } catch {
    return undefined
  }
  return git('log', '--reverse', '--no-merges', '-z', '--format=%h%n%B', `${base}..HEAD`)
    .split('\0')
    .filter((commit) => commit !== '')
    .flatMap((commit) => {
      const [hash = '', ...message] = commit.split('\n')
      return problemsOfMessage(message.join('\n')).map((problem) => `${hash} ${message[0]}: ${problem}`)
    })
}

if (import.meta.main) {
  // An empty variable is what CI gives when an event has no earlier commit.
  const base = process.argv[2] ?? (process.env.COMMITS_SINCE || 'origin/main')
  const problems = checkCommits(join(import.meta.dirname, '..'), base)
  if (problems === undefined) console.log(`no commit is checked: this clone has no ${base}`)
  for (const problem of problems ?? []) console.error(problem)
  process.exitCode = problems === undefined || problems.length === 0 ? 0 : 1
}
