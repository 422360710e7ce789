import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useFormat } from '../format.ts'
import { texts, useText } from '../text.ts'
import { type Fact, FactList } from './fact-list.tsx'

const words = texts({
  en: {
    selected: (count: string) => `${count} selected`,
    all: 'Select all',
    clear: 'Clear',
    result: 'Result',
    close: 'Close',
    amounts: 'Amounts',
    fees: 'Fees',
    feesReturned: 'Payment fees returned',
    sum: 'Total',
  },
  pt: {
    selected: (count: string) => `Seleção: ${count}`,
    all: 'Selecionar tudo',
    clear: 'Limpar',
    result: 'Resultado',
    close: 'Fechar',
    amounts: 'Valores',
    fees: 'Tarifas',
    feesReturned: 'Tarifas dos pagamentos, devolvidas',
    sum: 'Total',
  },
})

/** The rows of a list that can be selected, and those that are. */
export type Selection<Row> = {
  selected: Row[]
  selectable: Row[]
  choose: (rows: Row[]) => void
}

/**
 * A selected row stays selected while the list changes. If it is not in the list for a time, or cannot be selected, it
 * is selected again afterwards, unless another choice was made meanwhile.
 */
export function useSelection<Row>(selectable: Row[], keyOf: (row: Row) => string): Selection<Row> {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  return {
    selectable,
    selected: selectable.filter((row) => chosen.has(keyOf(row))),
    choose: (rows) => setChosen(new Set(rows.map(keyOf))),
  }
}

/** Selects all rows of the page that can be selected, or none. */
export function SelectAll<Row>({
  of: { selected, selectable, choose },
  label,
}: {
  of: Selection<Row>
  /** Shown beside it; otherwise only read aloud. */
  label?: boolean
}) {
  const t = useText(words)
  return (
    <Checkbox
      {...(label ? { label: t.all } : { 'aria-label': t.all })}
      checked={selected.length > 0 && selected.length === selectable.length}
      indeterminate={selected.length > 0 && selected.length < selectable.length}
      onChange={({ currentTarget }) => choose(currentTarget.checked ? selectable : [])}
    />
  )
}

export function SelectOne<Row>({
  of: { selected, choose },
  row,
  label,
}: {
  of: Selection<Row>
  row: Row
  label: string
}) {
  return (
    <Checkbox
      aria-label={label}
      checked={selected.includes(row)}
      onChange={({ currentTarget }) =>
        choose([...selected.filter((one) => one !== row), ...(currentTarget.checked ? [row] : [])])
      }
    />
  )
}

/** How many rows are selected, and what can be done with them. Nothing is shown without a selection. */
export function SelectionBar<Row>({
  of: { selected, selectable, choose },
  children,
}: {
  of: Selection<Row>
  children: ReactNode
}) {
  const t = useText(words)
  const format = useFormat()
  if (selected.length === 0) return null
  const count = t.selected(format.number(selected.length))
  return (
    <Group className="bulk-bar" justify="space-between" gap="xs" role="group" aria-label={count}>
      <Group gap={4}>
        <Text size="sm" fw={600} me={4} aria-live="polite">
          {count}
        </Text>
        {selected.length < selectable.length && (
          <Button variant="subtle" size="compact-sm" onClick={() => choose(selectable)} hiddenFrom="sm">
            {t.all}
          </Button>
        )}
        <Button variant="subtle" size="compact-sm" onClick={() => choose([])}>
          {t.clear}
        </Button>
      </Group>
      <Group gap="xs">{children}</Group>
    </Group>
  )
}

/** The selected records, one below the other. */
export function SelectedList({ rows }: { rows: { key: string; content: ReactNode }[] }) {
  return (
    <Stack gap={0} component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {rows.map(({ key, content }) => (
        <li key={key} className="row" style={{ padding: '8px 0' }}>
          {content}
        </li>
      ))}
    </Stack>
  )
}

/** The sums of the selected amounts and of their fees, and the total. Only with fees: the title has the amounts. */
export function SelectedSums({ amount, fee, feeReturned = 0 }: { amount: number; fee: number; feeReturned?: number }) {
  const t = useText(words)
  const { money } = useFormat()
  if (fee === 0 && feeReturned === 0) return null
  return (
    <FactList
      facts={[
        [t.amounts, money(amount)],
        ...(fee === 0 ? [] : [[t.fees, money(fee)] satisfies Fact]),
        ...(feeReturned === 0 ? [] : [[t.feesReturned, money(-feeReturned)] satisfies Fact]),
        [t.sum, <b key="sum">{money(amount + fee - feeReturned)}</b>],
      ]}
    />
  )
}

/** What became of each of the selected records. */
export function ResultDialog({
  sentence,
  onClose,
  children,
}: {
  sentence: string
  onClose: () => void
  children?: ReactNode
}) {
  const t = useText(words)
  return (
    <Modal opened onClose={onClose} title={t.result} closeButtonProps={{ 'aria-label': t.close }} centered>
      <Stack>
        <Text size="sm" fw={600} role="status">
          {sentence}
        </Text>
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>{t.close}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
