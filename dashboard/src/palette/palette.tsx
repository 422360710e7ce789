import { Button, Kbd, Group as Line, Loader, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useRef, useState } from 'react'
import { request } from '../api.ts'
import { ErrorBoundary } from '../components/error-boundary.tsx'
import { ErrorNotice } from '../components/error-notice.tsx'
import { IconOf } from '../components/icons.tsx'
import { useMerchants } from '../components/merchant-switch.tsx'
import { Status } from '../components/status.tsx'
import type { ScreenEntry } from '../screens.ts'
import { useClient, useMay, useUser } from '../session.tsx'
import { useText } from '../text.ts'
import type { SearchResults } from '../types.ts'
import { type Group, type Item, useFoundGroups, useLocalGroups } from './items.tsx'
import { words } from './text.ts'

type Props = { shown: readonly ScreenEntry[]; onClose: () => void; onSheet: () => void; onSignOut: () => void }

/** Finds records, customers, merchants, screens and actions by what a person types. */
export default function Palette(props: Props) {
  const t = useText(words)
  return (
    <Modal.Root opened onClose={props.onClose} size="lg" yOffset="8vh" returnFocus>
      <Modal.Overlay />
      <Modal.Content aria-label={t.title}>
        <Modal.Body p={0}>
          <ErrorBoundary>
            <Finder {...props} />
          </ErrorBoundary>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

/** Shorter texts are found in too many records. */
const searchedMin = 3

function Finder({ onClose, ...context }: Props) {
  const t = useText(words)
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const field = useRef<HTMLInputElement>(null)
  const query = text.trim()
  const search = useSearch(query)
  const localGroups = useLocalGroups({ query, ...context })
  const groups = [...localGroups, ...useFoundGroups(search.found, query)].filter(({ items }) => items.length > 0)
  const items = groups.flatMap((group) => group.items)
  // While a search runs, the results of the previous search are still shown. Enter must not open them.
  const runnable = search.isLoading ? localGroups.flatMap((group) => group.items) : items
  const current = Math.min(chosen, items.length - 1)
  const run = (item: Item) => {
    if (!item.staysOpen) onClose()
    item.run()
  }
  const move = (index: number) => {
    setChosen(index)
    document.getElementById(optionId(index))?.scrollIntoView({ block: 'nearest' })
  }
  const searchAll = () => {
    search.searchAll()
    // The button that had the focus is no longer shown.
    field.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const item = runnable[current]
    if (event.key === '?' && text === '') {
      onClose()
      context.onSheet()
    } else if (event.key === 'ArrowDown') move((current + 1) % Math.max(1, items.length))
    else if (event.key === 'ArrowUp') move((current + items.length - 1) % Math.max(1, items.length))
    else if (event.key === 'Enter' && item && !event.nativeEvent.isComposing) run(item)
    else return
    event.preventDefault()
  }
  return (
    <>
      <TextInput
        ref={field}
        data-autofocus
        variant="unstyled"
        size="md"
        px="md"
        py={6}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
        role="combobox"
        aria-label={t.hint}
        aria-expanded={items.length > 0}
        aria-controls="palette-results"
        aria-autocomplete="list"
        aria-activedescendant={items.length > 0 ? optionId(current) : undefined}
        autoComplete="off"
        spellCheck={false}
        maxLength={255}
        placeholder={t.hint}
        leftSection={<IconOf name="search" size={18} />}
        rightSection={search.isLoading ? <Loader size="xs" /> : null}
        className="palette-input"
      />
      {search.error && <ErrorNotice error={search.error} />}
      <Results groups={groups} current={current} onRun={run} />
      <Hints query={query} search={search} count={items.length} onSearchAll={searchAll} />
      <Line gap="lg" px="md" py={8} visibleFrom="sm" className="palette-keys">
        <Text size="xs" c="dimmed" component="div">
          <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> {t.move}
        </Text>
        <Text size="xs" c="dimmed" component="div">
          <Kbd size="xs">Enter</Kbd> {t.open}
        </Text>
        <Text size="xs" c="dimmed" component="div">
          <Kbd size="xs">?</Kbd> {t.actions.keys.toLowerCase()}
        </Text>
      </Line>
    </>
  )
}

const optionId = (index: number) => `palette-result-${index}`

type Search = {
  found: SearchResults | undefined
  isLoading: boolean
  error: Error | null
  /** Only this merchant's records are searched. */
  client: string | null
  searchAll: () => void
}

/** Asks the service, in the chosen merchant or in all. */
function useSearch(query: string): Search {
  const may = useMay()
  const { merchant } = useUser()
  const chosen = useClient()
  const [searchesAll, setSearchesAll] = useState(false)
  const client = merchant === null && !searchesAll ? chosen : null
  const [text] = useDebouncedValue(query, 150)
  const isSearched = may('transaction.read') && text.length >= searchedMin
  const answer = useQuery({
    queryKey: ['search', client, text],
    queryFn: async () =>
      await request<SearchResults>('POST', '/search', { text, ...(client !== null && { clientId: client }) }),
    enabled: isSearched,
    placeholderData: keepPreviousData,
    // The text may be a CPF or CNPJ: it is not kept when the palette closes.
    gcTime: 0,
  })
  return {
    found: isSearched && query.length >= searchedMin ? answer.data : undefined,
    isLoading: may('transaction.read') && query.length >= searchedMin && (query !== text || answer.isFetching),
    ...{ error: answer.error, client, searchAll: () => setSearchesAll(true) },
  }
}

type ResultsProps = { groups: Group[]; current: number; onRun: (item: Item) => void }

function Results({ groups, current, onRun }: ResultsProps) {
  const t = useText(words)
  let index = -1
  return (
    <div role="listbox" id="palette-results" aria-label={t.results} className="palette-results">
      {groups.map(({ name, items }) => (
        // biome-ignore lint/a11y/useSemanticElements: a listbox has no fieldset
        <div key={name} role="group" aria-labelledby={`palette-${name}`} className="palette-group">
          <Text id={`palette-${name}`} size="xs" fw={600} c="dimmed" px="md" pt={8} pb={4}>
            {t.groups[name]}
          </Text>
          {items.map((item) => {
            index += 1
            return <Option key={item.key} item={item} index={index} isCurrent={index === current} onRun={onRun} />
          })}
        </div>
      ))}
    </div>
  )
}

type OptionProps = { item: Item; index: number; isCurrent: boolean; onRun: (item: Item) => void }

function Option({ item, index, isCurrent, onRun }: OptionProps) {
  const { icon, title, note, status, keys } = item
  return (
    // The keys of the field above move through the options and run them.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
    <div
      role="option"
      id={optionId(index)}
      aria-selected={isCurrent}
      className="palette-option"
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => onRun(item)}
    >
      <IconOf name={icon} size={16} />
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" fw={500} truncate>
          {title}
        </Text>
        {note && (
          <Text size="xs" c="dimmed" truncate>
            {note}
          </Text>
        )}
      </div>
      {status && <Status of={status} />}
      {keys && (
        <Line gap={4} wrap="nowrap" visibleFrom="sm">
          {keys.map((key) => (
            <Kbd key={key} size="xs">
              {key}
            </Kbd>
          ))}
        </Line>
      )}
    </div>
  )
}

type HintsProps = { query: string; search: Search; count: number; onSearchAll: () => void }

/** Says how much was found, what was not searched, and what could be tried instead. */
function Hints({ query, search, count, onSearchAll }: HintsProps) {
  const t = useText(words)
  const clients = useMerchants()
  const { merchant } = useUser()
  const { client, isLoading, found, error } = search
  if (query === '' || isLoading || error) return null
  const clientName = clients.data?.find(({ clientId }) => clientId === client)?.name ?? client
  const isOfAll = merchant === null && client === null
  return (
    <Stack gap={6} px="md" py="sm" align="flex-start">
      <Text size="sm" role="status" className={count > 0 ? 'unseen' : undefined} fw={600}>
        {count === 0 ? t.none(query) : t.found(count)}
      </Text>
      {count === 0 && (
        <Text size="sm" c="dimmed">
          {query.length < searchedMin ? t.tooShort : t.noneHint}
        </Text>
      )}
      {found && clientName !== null && (
        <Line gap="xs">
          <Text size="xs" c="dimmed">
            {t.searchedOne(clientName)}
          </Text>
          <Button size="compact-xs" variant="default" onClick={onSearchAll}>
            {t.searchAll}
          </Button>
        </Line>
      )}
      {found?.leavesOutOlderNames && (
        <Text size="xs" c="dimmed">
          {isOfAll ? t.partOfNames : t.partOfNamesOfOne}
        </Text>
      )}
    </Stack>
  )
}
