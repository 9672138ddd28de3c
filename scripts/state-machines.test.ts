import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { diagramsOf } from './layout/state-diagrams.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The quoted words at the only match of a pattern in a file. */
function wordsOf(path: string, place: RegExp): readonly string[] {
  const found = [...read(path).matchAll(new RegExp(place, 'g'))]
  if (found.length !== 1) throw new Error(`${path} has ${found.length} places like ${place}`)
  return [...String(found[0]?.[1]).matchAll(/'(\w+)'/g)].map(([, word]) => String(word))
}

const arrowsOf = (from: readonly string[], to: readonly string[]): readonly string[] =>
  from.flatMap((start) => to.map((end) => `${start} --> ${end}`))

/** A module with rows that have a state column. */
interface StoredMachine {
  readonly name: string
  readonly readme: string
  /** The number of the diagram in the README. */
  readonly diagram: number
  /** The possible states of the column, from its migration. */
  readonly states: () => readonly string[]
  /** The files that update the column in stored rows. `writing` matches the update. */
  readonly writers: readonly string[]
  readonly writing: RegExp
  /** The transitions that the guards in these files allow, except to the first state of a row. */
  readonly arrows: () => readonly string[]
}

const PAYMENTS = 'migrations/payments/functions'
const INVENTORY = 'migrations/inventory/functions'
const settings = (table: string): RegExp =>
  new RegExp(String.raw`UPDATE \{\{${table}\}\} \w+\s+SET[^;]*?\b(?:state|status) =`)

const machines: readonly StoredMachine[] = [
  {
    name: 'an attempt',
    readme: 'services/payments/src/transactions/README.md',
    diagram: 1,
    states: () => wordsOf('migrations/payments/0026-create-attempts.ts', /CHECK \(state IN \(([^)]*)\)/),
    writers: ['finish_charge', 'finish_payment', 'settle_attempt'].map((name) => `${PAYMENTS}/${name}.sql`),
    writing: settings('attempts'),
    arrows: () => {
      const outcomes = wordsOf('services/payments/src/acquirers/finish-attempt.ts', /readonly outcome: ('.*)\n/)
      const begun = ['finish_payment', 'finish_charge'].flatMap((name) =>
        wordsOf(`${PAYMENTS}/${name}.sql`, /IF attempt\.state <> ([^ ]+) THEN verdict := 'settled'/),
      )
      return [
        ...arrowsOf(begun, outcomes),
        ...arrowsOf(
          wordsOf(`${PAYMENTS}/settle_attempt.sql`, /AND a\.state = (.*);/),
          wordsOf(`${PAYMENTS}/settle_attempt.sql`, /IF coalesce\(p_state, ''\) NOT IN \(([^)]*)\) THEN\s+RAISE/),
        ),
      ]
    },
  },
  {
    name: 'an operation',
    readme: 'services/payments/src/transactions/README.md',
    diagram: 2,
    states: () => operationStates(),
    writers: [`${PAYMENTS}/close_operation.sql`],
    writing: settings('acquirer_operations'),
    arrows: () => {
      const file = `${PAYMENTS}/close_operation.sql`
      const over = wordsOf(file, /WHEN status IN \(([^)]*)\) THEN 'conflict'/)
      const [first, silence] = wordsOf(file, /OR status <> ('\w+' AND p_outcome = '\w+') THEN 'repeated'/)
      const outcomes = wordsOf('services/payments/src/acquirers/operation-repository.ts', /outcome: (.*)\n/)
      const moving = operationStates().filter((state) => !over.includes(state))
      return moving.flatMap((from) =>
        arrowsOf(
          [from],
          outcomes.filter((to) => to !== from && (to !== silence || from === first)),
        ),
      )
    },
  },
  {
    name: 'a dispute',
    readme: 'services/payments/src/disputes/README.md',
    diagram: 0,
    states: () => wordsOf('migrations/payments/0028-create-disputes.ts', /CHECK \(status IN \(([^)]*)\)/),
    writers: [`${PAYMENTS}/close_dispute.sql`],
    writing: settings('disputes'),
    arrows: () =>
      arrowsOf(
        wordsOf(`${PAYMENTS}/close_dispute.sql`, /dispute\.status NOT IN \(([^)]*), p_outcome\) THEN 'conflict'/),
        wordsOf('services/payments/src/disputes/dispute-repository.ts', /outcome: (.*) \| null\n/),
      ),
  },
  {
    name: 'a payout',
    readme: 'services/payments/src/payouts/README.md',
    diagram: 0,
    states: () => wordsOf('migrations/payments/0030-create-payouts.ts', /CHECK \(status IN \(([^)]*)\)/),
    writers: ['close_payout', 'export_waiting_payouts'].map((name) => `${PAYMENTS}/${name}.sql`),
    writing: settings('payouts'),
    arrows: () => [
      ...arrowsOf(
        wordsOf(`${PAYMENTS}/close_payout.sql`, /IF payout\.status IN \(([^)]*)\) THEN/),
        wordsOf(
          'services/payments/src/payouts/payout-repository.ts',
          /\(p: WithTenant<\{ id: string; outcome: (.*?) \}>/,
        ),
      ),
      ...arrowsOf(
        wordsOf(`${PAYMENTS}/export_waiting_payouts.sql`, /SELECT p\.\* FROM [^;]*? AND p\.status = ('\w+')/),
        wordsOf(`${PAYMENTS}/export_waiting_payouts.sql`, /SET status = ('\w+')/),
      ),
    ],
  },
  {
    name: 'a reservation',
    readme: 'services/inventory/src/reservations/README.md',
    diagram: 0,
    states: () => wordsOf('migrations/inventory/0007-create-reservations.ts', /status IN \(([^)]*)\)/),
    writers: ['commit_reservation', 'expire_reservations', 'release_reservation'].map(
      (name) => `${INVENTORY}/${name}.sql`,
    ),
    // One function ends whole reservations, for all callers.
    writing:
      /UPDATE \{\{reservations\}\} v\s+SET remaining = v\.remaining[^;]*\bstatus =|PERFORM \{\{end_reservation\}\}/,
    arrows: () => {
      const active = wordsOf(`${INVENTORY}/commit_reservation.sql`, /ELSIF r\.status <> ('\w+') THEN/)
      const rest =
        /SET remaining = v\.remaining - taken, status = CASE v\.remaining WHEN taken THEN (.*) ELSE v\.status/
      return [
        ...arrowsOf(active, active),
        ...arrowsOf(active, wordsOf(`${INVENTORY}/commit_reservation.sql`, rest)),
        ...arrowsOf(
          wordsOf(`${INVENTORY}/release_reservation.sql`, /IF r\.status = ('\w+') THEN PERFORM/),
          wordsOf(`${INVENTORY}/release_reservation.sql`, /end_reservation\}\}\(r, 'release', ('\w+')/),
        ),
        ...arrowsOf(
          wordsOf(`${INVENTORY}/expire_reservations.sql`, /WHERE v\.status = ('\w+') AND v\.expires_at <= due\n/),
          wordsOf(`${INVENTORY}/expire_reservations.sql`, /end_reservation\}\}\(r, 'expire', ('\w+')/),
        ),
      ]
    },
  },
  {
    name: 'a second factor',
    readme: 'services/auth/src/factors/README.md',
    diagram: 0,
    states: () => wordsOf('migrations/auth/0010-create-mfa-factors.ts', /factor_status'\)\} AS ENUM \(([^)]*)\)/),
    writers: ['services/auth/src/factors/factor-repository.ts'],
    writing: /updateTable\('mfa_factors'\)\s+\.set\(\{\s+status:/,
    arrows: () =>
      arrowsOf(
        // The use cases allow proof of any factor.
        wordsOf('migrations/auth/0010-create-mfa-factors.ts', /factor_status'\)\} AS ENUM \(([^)]*)\)/),
        wordsOf('services/auth/src/factors/factor-repository.ts', /\.set\(\{\s+status: ('\w+')/),
      ),
  },
]

function operationStates(): readonly string[] {
  return wordsOf('migrations/payments/0020-create-operations.ts', /CHECK \(status IN \(([^)]*)\)/)
}

const sources = globSync(['migrations/*/functions/**/*.sql', 'services/*/src/**/*.ts'], { cwd: root })
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: read(path) }))

describe.each(machines)('the diagram of $name', ({ readme, diagram, states, writers, writing, arrows }) => {
  const drawn = diagramsOf(read(readme))[diagram]

  it('has the states of the table', () => {
    const names = [...(drawn?.states ?? [])].filter((state) => state !== 'none')
    expect(names.sort()).toEqual([...states()].sort())
  })

  it('has the arrows that the code lets through, from one state to another', () => {
    const inner = [...(drawn?.arrows.keys() ?? [])].filter((arrow) => !/\bnone\b/.test(arrow))
    expect(inner.sort()).toEqual([...new Set(arrows())].sort())
  })

  it('is compared with every place that changes the state', () => {
    const found = sources.filter(({ text }) => writing.test(text)).map(({ path }) => path)
    expect(found.sort()).toEqual([...writers])
  })
})

/** A machine with its state in a variable of a process. */
interface HeldMachine {
  readonly name: string
  readonly readme: string
  readonly diagram: number
  readonly states: () => readonly string[]
  readonly arrows: () => readonly string[]
}

const LIFECYCLE = 'packages/endpoints/src/application.ts'
const READINESS = 'packages/common/src/lifecycle/readiness.ts'
const typeOf = (name: string): RegExp => new RegExp(String.raw`type ${name} = (.*)\n`)

/** The transitions in a table that contains the next state for each state and event. */
function arrowsIn(path: string, table: string): readonly string[] {
  const [rows = ''] = read(path).split(`const ${table}: `)[1]?.split('\n}\n') ?? []
  return [...rows.matchAll(/^ {2}(\w+): \{(.*)\},$/gm)].flatMap(([, from = '', nexts = '']) =>
    arrowsOf(
      [from],
      [...nexts.matchAll(/'(\w+)'/g)].map(([, to]) => String(to)),
    ),
  )
}

const heldMachines: readonly HeldMachine[] = [
  {
    name: 'the load of an application',
    readme: 'packages/endpoints/README.md',
    diagram: 0,
    states: () => wordsOf(LIFECYCLE, typeOf('LoadState')),
    arrows: () => arrowsIn(LIFECYCLE, 'NEXT_LOAD'),
  },
  {
    name: 'the watch of an application',
    readme: 'packages/endpoints/README.md',
    diagram: 1,
    states: () => wordsOf(LIFECYCLE, typeOf('WatchState')),
    arrows: () => arrowsIn(LIFECYCLE, 'NEXT_WATCH'),
  },
  {
    name: 'a process that serves',
    readme: 'packages/common/README.md',
    diagram: 0,
    states: () => wordsOf(READINESS, /let state: (.*) =/),
    arrows: () => [
      ...arrowsOf(
        wordsOf(READINESS, /if \(state === (.*)\) state = 'ready'/),
        wordsOf(READINESS, /if \(state === '\w+'\) state = (.*)\n/),
      ),
      ...arrowsOf(
        wordsOf(READINESS, /let state: (.*) =/),
        wordsOf(READINESS, /drain: \(\): void => \{\s+state = (.*)\n/),
      ),
    ],
  },
]

const isChange = (arrow: string): boolean => new Set(arrow.split(' --> ')).size === 2

describe.each(heldMachines)('the diagram of $name', ({ readme, diagram, states, arrows }) => {
  const drawn = diagramsOf(read(readme))[diagram]

  it('has the states of the code', () => {
    expect([...(drawn?.states ?? [])].filter((state) => state !== 'none').sort()).toEqual([...states()].sort())
  })

  it('has the arrows of the code, from one state to another', () => {
    const inner = [...(drawn?.arrows.keys() ?? [])].filter((arrow) => isChange(arrow) && !/\bnone\b/.test(arrow))
    expect(inner.sort()).toEqual([...new Set(arrows().filter(isChange))].sort())
  })
})

it('the diagram of a distribution has the states of its type', () => {
  const notes = 'packages/citus/src/notes.ts'
  const states = wordsOf(notes, /export type DistributionState = (.*)\n/)
  const drawn = diagramsOf(read('packages/citus/README.md'))[0]
  expect([...(drawn?.states ?? [])].sort()).toEqual([...states].sort())
})

it('finds the states of every table with a state', () => {
  const states = /(?:CHECK \((?:\s*)|\n\s+)(?:status|state) IN \(|_status'\)\} AS ENUM/
  const found = globSync('migrations/*/*.ts', { cwd: root }).filter((path) => states.test(read(path)))
  expect(found.sort()).toEqual([
    'migrations/auth/0010-create-mfa-factors.ts',
    // The fourth state, `over`, is a retired key after its time. `signing-key-states.long.test.ts` tests all states.
    'migrations/auth/0017-create-signing-keys.ts',
    'migrations/inventory/0007-create-reservations.ts',
    'migrations/inventory/0012-create-operator-imports.ts',
    'migrations/payments/0020-create-operations.ts',
    'migrations/payments/0026-create-attempts.ts',
    'migrations/payments/0028-create-disputes.ts',
    'migrations/payments/0030-create-payouts.ts',
  ])
})
