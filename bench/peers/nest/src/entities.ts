import {
  Column,
  CreateDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm'

@Entity('transactions')
export class Transaction {
  @PrimaryColumn('uuid') id: string
  @Column('uuid', { name: 'merchant_id' }) merchantId: string
  @Column('bigint', { transformer: { to: (value: number) => value, from: Number } }) amount: number
  @Column('text') status: string
  @Column('text', { name: 'payment_method' }) paymentMethod: string
  @Column('text', { name: 'idempotency_key', nullable: true }) idempotencyKey?: string
  @Column('text', { name: 'external_code', nullable: true }) externalCode?: string
  @Column('text', { name: 'webhook_url', nullable: true }) webhookUrl?: string
  @Column('boolean', { name: 'is_info_product' }) isInfoProduct: boolean
  @Column('jsonb', { nullable: true }) customer?: object
  @Column('jsonb', { nullable: true }) seller?: object
  @Column('jsonb', { nullable: true }) address?: object
  @Column('jsonb', { nullable: true }) items?: object[]
  @Column('jsonb', { nullable: true }) metadata?: object
  @Column('integer', { name: 'pix_expiration_seconds' }) pixExpirationSeconds: number
  @Column('text', { name: 'pix_uri' }) pixUri: string
  @Column('timestamptz', { name: 'pix_expires_at' }) pixExpiresAt: Date
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt: Date
  @UpdateDateColumn({ type: 'timestamptz', name: 'updated_at' }) updatedAt: Date
  @OneToMany(
    () => StatusHistory,
    (entry) => entry.transaction,
  )
  statusHistory: StatusHistory[]
}

@Entity('status_history')
export class StatusHistory {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS' }) id: number
  @ManyToOne(
    () => Transaction,
    (transaction) => transaction.statusHistory,
  )
  @JoinColumn({ name: 'transaction_id' })
  transaction: Transaction
  @Column('text') status: string
  @Column('timestamptz', { name: 'changed_at' }) changedAt: Date
}

@Entity('events')
export class Event {
  @PrimaryColumn('uuid') id: string
  @Column('uuid', { name: 'merchant_id' }) merchantId: string
  @Column('uuid', { name: 'transaction_id' }) transactionId: string
  @Column('text') type: string
  @Column('jsonb') payload: object
  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' }) createdAt: Date
}
