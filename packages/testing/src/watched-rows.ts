import pg from 'pg'

export interface WatchedRow {
  readonly at: Date
  readonly row: Readonly<Record<string, unknown>>
}

/** Returns the state of a row. The state of a deleted row is `none`. */
type StateOf = (row: WatchedRow) => string

/** The events that change rows, by name. */
type Events<Subject> = Readonly<Record<string, (subject: Subject) => Promise<unknown>>>

/** Tables whose changes are recorded. */
export interface WatchedRows {
  /** Updates all rows of a table, as the passing of time would. @param text the SQL after `UPDATE` and the table */
  change(table: string, text: string): Promise<void>
  /**
   * Starts with empty tables, applies the events of each way, and then lets each event happen. A way is a list of events.
   * @param begin creates the subject of the events of one way
   * @returns by table, the transitions between two states of rows, without duplicates and sorted
   */
  explore<Subject>(
    events: Events<Subject>,
    ways: readonly (readonly string[])[],
    begin: () => Promise<Subject>,
  ): Promise<ReadonlyMap<string, readonly string[]>>
  close(): Promise<void>
}

interface Change {
  readonly at: Date
  readonly place: string
  readonly before: WatchedRow['row'] | null
  readonly after: WatchedRow['row'] | null
}

/** Returns whether the time in a column has come. A time that is `null` has not come. */
export const hasCome = (moment: unknown, { at }: WatchedRow): boolean =>
  moment !== null && Date.parse(String(moment)) <= at.getTime()

/**
 * Records each further change of the rows of some tables, by a trigger.
 * @param states a function for each table that returns the state of a row
 */
export async function watchRows(url: string, states: Readonly<Record<string, StateOf>>): Promise<WatchedRows> {
  const entries = Object.entries(states)
  const tables = entries.map(([table]) => table)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await recordChanges(client, tables)
  const presentStates = async () => {
    const found: string[] = []
    for (const [table, stateOf] of entries) {
      const text = `SELECT clock_timestamp() AS at, to_jsonb(t) AS row FROM ${table} t`
      found.push(...(await client.query<WatchedRow>(text)).rows.map(stateOf).sort(), ';')
    }
    return found.join()
  }
  const follow = async <Subject>(
    events: Events<Subject>,
    way: readonly string[],
    begin: () => Promise<Subject>,
  ): Promise<{ readonly subject: Subject; readonly states: string }> => {
    // Truncate the tables, because the trigger would record deleted rows as rows that have ended.
    await client.query(`TRUNCATE ${tables.join()} CASCADE`)
    const subject = await begin()
    for (const name of way) await events[name]?.(subject)
    return { subject, states: await presentStates() }
  }
  return {
    change: async (table, text) => void (await client.query(`UPDATE ${table} ${text}`)),
    explore: async (events, ways, begin) => {
      for (const way of ways) {
        let place = await follow(events, way, begin)
        for (const happen of Object.values(events)) {
          await happen(place.subject)
          if ((await presentStates()) !== place.states) place = await follow(events, way, begin)
        }
      }
      return readArrows(client, entries)
    },
    close: () => client.end(),
  }
}

async function recordChanges(client: pg.Client, tables: readonly string[]): Promise<void> {
  await client.query(`
    CREATE TABLE public.changes (at timestamptz, place text, before jsonb, after jsonb);
    CREATE FUNCTION public.note_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO public.changes VALUES (clock_timestamp(), TG_ARGV[0], to_jsonb(OLD), to_jsonb(NEW));
      RETURN NULL;
    END $$`)
  for (const table of tables) {
    await client.query(`
      CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON ${table}
      FOR EACH ROW EXECUTE FUNCTION public.note_change('${table}')`)
  }
}

/** Returns the state transitions of the rows of each table, as arrows of its diagram. */
async function readArrows(
  client: pg.Client,
  entries: readonly (readonly [string, StateOf])[],
): ReturnType<WatchedRows['explore']> {
  const { rows } = await client.query<Change>('SELECT at, place, before, after FROM public.changes')
  const through = (table: string, stateOf: StateOf) =>
    rows
      .filter(({ place }) => place === table)
      .map(({ at, before, after }) => [before, after].map((row) => (row === null ? 'none' : stateOf({ at, row }))))
      .filter(([from, to]) => from !== to)
      .map((ends) => ends.join(' --> '))
  return new Map(entries.map(([table, stateOf]) => [table, [...new Set(through(table, stateOf))].sort()]))
}
