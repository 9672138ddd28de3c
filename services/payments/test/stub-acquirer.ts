import type { Acquirer, AcquirerEvent, AcquirerTask, AuthorizationRequest } from '../src/acquirers/acquirer.ts'

/** An acquirer that answers what a test tells it to, and remembers what it has received. */
export interface StubAcquirer extends Acquirer {
  readonly received: {
    readonly authorizations: AuthorizationRequest[]
    readonly inquiries: string[]
    readonly givenBack: string[]
    readonly tasks: AcquirerTask[]
    readonly acknowledged: string[]
  }
  readonly answers: {
    authorize: Acquirer['authorize']
    inquire: Acquirer['inquire']
    reverse: Acquirer['reverse']
    submit: Acquirer['submit']
    events: AcquirerEvent[]
  }
}

/**
 * Creates an acquirer that approves, takes back and accepts everything, knows no attempt, and has no events, unless a test says
 * otherwise.
 */
export function createStubAcquirer(): StubAcquirer {
  const received: StubAcquirer['received'] = {
    authorizations: [],
    inquiries: [],
    givenBack: [],
    tasks: [],
    acknowledged: [],
  }
  const answers: StubAcquirer['answers'] = {
    authorize: async ({ idempotencyRef }) => ({ verdict: 'approved', ref: `n-${idempotencyRef}`, networkRef: null }),
    inquire: async () => ({ verdict: 'unknown' }),
    reverse: async () => ({ verdict: 'accepted' }),
    submit: async () => ({ verdict: 'accepted' }),
    events: [],
  }
  const noted =
    <Item, Result>(list: Item[], answer: () => (item: Item) => Promise<Result>) =>
    (item: Item) => {
      list.push(item)
      return answer()(item)
    }
  return {
    received,
    answers,
    authorize: noted(received.authorizations, () => answers.authorize),
    inquire: noted(received.inquiries, () => answers.inquire),
    reverse: noted(received.givenBack, () => answers.reverse),
    submit: noted(received.tasks, () => answers.submit),
    events: async () => ({ events: answers.events, unnamed: 0 }),
    acknowledge: async (references) => void received.acknowledged.push(...references),
  }
}
