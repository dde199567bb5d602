# Copied into the test server's config/initializers by redmine-up.
#
# SQLite under several threads or processes: take the write lock at BEGIN, because a deferred
# transaction that upgrades to a write gets SQLITE_BUSY at once, which Redmine answers with a 500;
# and wait for a lock in Ruby, because SQLite's own wait keeps Ruby's global lock.  No fsync: the
# database is thrown away.
ActiveSupport.on_load(:active_record) do
  require 'active_record/connection_adapters/sqlite3_adapter'
  ActiveRecord::ConnectionAdapters::SQLite3Adapter.prepend(Module.new do
    # Rails 7 reads default_transaction_mode from database.yml
    if ActiveRecord::VERSION::MAJOR < 7
      def begin_db_transaction
        log('begin immediate transaction', nil) { @connection.transaction(:immediate) }
      end
    end

    private

    def configure_connection
      super
      connection = @raw_connection || @connection
      connection.busy_handler { |n| sleep 0.002; n < 15_000 }
      connection.execute('PRAGMA synchronous=OFF')
    end
  end)
end
