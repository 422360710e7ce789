import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useFilters } from '../filters.ts'
import { MoneyInput } from './money-input.tsx'

/** The pause after the last keystroke before the filter is applied. */
const pauseMs = 400

/** A filter that is kept in the address under its name. */
type Filter = { label: string; name: string }

export function TextFilter({ label, name, error = false }: Filter & { error?: string | false }) {
  const filters = useFilters()
  const known = filters.get(name)
  const [text, setText] = useState(known)
  // The filter is without the spaces at its ends. In the input they stay: another word may follow.
  useEffect(() => setText((shown) => (shown.trim() === known ? shown : known)), [known])
  const apply = useDebouncedCallback((value: string) => filters.set({ [name]: value.trim() }), pauseMs)
  return (
    <TextInput
      label={label}
      w={{ base: '100%', xs: 'auto' }}
      error={error}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value)
        apply(event.currentTarget.value)
      }}
    />
  )
}

export function MoneyFilter({ label, name }: Filter) {
  const filters = useFilters()
  const known = filters.get(name) === '' ? null : Number(filters.get(name))
  const [cents, setCents] = useState(known)
  useEffect(() => setCents(known), [known])
  const apply = useDebouncedCallback(
    (value: number | null) => filters.set({ [name]: value === null ? '' : String(value) }),
    pauseMs,
  )
  return (
    <MoneyInput
      label={label}
      value={cents}
      onChange={(value) => {
        setCents(value)
        apply(value)
      }}
    />
  )
}
