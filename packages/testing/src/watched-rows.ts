import pg from 'pg'

/** A row of a table as JSON, and when it had these values. */
export interface WatchedRow {
  readonly at: Date
  readonly row: Readonly<Record<string, unknown>>
}

/** The state of a row; `none` for a row that has ended. */
type StateOf = (row: WatchedRow) => string

/** What happens to the rows of a table, by its name in the table of events. */
type Events<Subject> = Readonly<Record<string, (subject: Subject) => Promise<unknown>>>

/** A table whose changes are noted. */
export interface WatchedRows {
  /** Changes rows by SQL, as time would. The text follows UPDATE and the name of the table. */
  change(text: string): Promise<void>
  /**
   * Lets each event happen to an empty table after each way, which is a list of events.
   * @param begin makes what the events of one way happen to
   * @returns the arrows between two states that rows went through, each once, sorted
   */
  explore<Subject>(
    events: Events<Subject>,
    ways: readonly (readonly string[])[],
    begin: () => Promise<Subject>,
  ): Promise<readonly string[]>
  close(): Promise<void>
}

interface Change {
  readonly at: Date
  readonly before: WatchedRow['row'] | null
  readonly after: WatchedRow['row'] | null
}

/** Notes each change of the rows of a table from now on, by a trigger. */
export async function watchRows(url: string, table: string, stateOf: StateOf): Promise<WatchedRows> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`
    CREATE TABLE public.changes (id int GENERATED ALWAYS AS IDENTITY, at timestamptz, before jsonb, after jsonb);
    CREATE FUNCTION public.note_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO public.changes (at, before, after) VALUES (clock_timestamp(), to_jsonb(OLD), to_jsonb(NEW));
      RETURN NULL;
    END $$;
    CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON ${table}
      FOR EACH ROW EXECUTE FUNCTION public.note_change()`)

  const presentStates = async () => {
    const text = `SELECT clock_timestamp() AS at, to_jsonb(t) AS row FROM ${table} t`
    return (await client.query<WatchedRow>(text)).rows.map(stateOf).sort().join()
  }
  const arrows = async () => {
    const { rows } = await client.query<Change>('SELECT at, before, after FROM public.changes')
    const pairs = rows.map(({ at, before, after }) =>
      [before, after].map((row) => (row === null ? 'none' : stateOf({ at, row }))),
    )
    return [...new Set(pairs.filter(([from, to]) => from !== to).map((pair) => pair.join(' --> ')))].sort()
  }
  return {
    change: async (text) => void (await client.query(`UPDATE ${table} ${text}`)),
    explore: async (events, ways, begin) => {
      const follow = async (way: readonly string[]) => {
        // A trigger would note a deleted row as one that has ended.
        await client.query(`TRUNCATE ${table}`)
        const subject = await begin()
        for (const name of way) await events[name]?.(subject)
        return { subject, states: await presentStates() }
      }
      for (const way of ways) {
        let place = await follow(way)
        for (const happen of Object.values(events)) {
          await happen(place.subject)
          if ((await presentStates()) !== place.states) place = await follow(way)
        }
      }
      return arrows()
    },
    close: () => client.end(),
  }
}
